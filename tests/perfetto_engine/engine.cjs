// Runs Perfetto's own trace processor (WebAssembly, 32-bit) as a filter: the bytes of a
// TraceProcessorRpcStream come in on stdin, the engine's replies go out on stdout.
//
//     node engine.cjs WEB_DIST_VERSION_DIR < requests > replies
//
// The folder is the one of a Perfetto UI build: engine_bundle.js is the UI's worker, which expects
// a browser's worker around it. This file is that worker: just enough of one.

"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder] = process.argv.slice(2);

function fail(error) {
  process.stderr.write(`${(error && error.message) || error}\n`); // the stack quotes the whole bundle
  process.exit(3);
}
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

// The worker takes the 64-bit build where the browser has memory64, which depends on the Node
// version. It finds out by compiling a module that begins with a memory section; refuse that one.
const MEMORY_SECTION = 5;
class Module32 {
  constructor(bytes) {
    if (bytes[8] === MEMORY_SECTION) throw new Error("memory64 is off");
    return new WebAssembly.Module(bytes);
  }
}

// The engine takes requests once the worker has called `trace_processor_rpc_init`, which it tells
// nobody. So hand the worker an instance whose init also resolves `ready`.
let markReady;
const ready = new Promise((resolve) => (markReady = resolve));

class ReadyInstance {
  constructor(module, imports) {
    const instance = new WebAssembly.Instance(module, imports);
    const { trace_processor_rpc_init: init } = instance.exports;
    if (!init) return instance; // glue for one callback, not the engine
    const initAndTell = (...args) => {
      const address = init(...args);
      markReady();
      return address;
    };
    return { exports: { ...instance.exports, trace_processor_rpc_init: initAndTell } };
  }
}

// The worker reads its .wasm file with a synchronous request.
class FileRequest {
  open(method, url) {
    this.file = path.join(folder, path.basename(url));
  }
  send() {
    this.response = new Uint8Array(fs.readFileSync(this.file)).buffer;
  }
}

const self = { location: { href: "http://localhost/" } };
const worker = {
  self,
  location: self.location,
  WorkerGlobalScope: class {},
  importScripts: () => {},
  XMLHttpRequest: FileRequest,
  WebAssembly: { ...namesOf(WebAssembly), Module: Module32, Instance: ReadyInstance },
  console: { log: () => {}, warn: note, error: note },
  crypto: globalThis.crypto || require("crypto").webcrypto,
  // The host's own, for what crosses over is tested with instanceof.
  TypeError, Uint8Array, ArrayBuffer, TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout,
};

function namesOf(object) {
  return Object.fromEntries(Object.getOwnPropertyNames(object).map((name) => [name, object[name]]));
}

function note(text) {
  process.stderr.write(`${text}\n`);
}

const port = { postMessage: (reply) => fs.writeSync(1, reply) };

async function main() {
  const bundle = path.join(folder, "engine_bundle.js");
  vm.runInNewContext(fs.readFileSync(bundle, "utf8"), worker, { filename: bundle });
  self.onmessage({ data: port });
  await ready;
  const chunk = Buffer.alloc(1 << 22);
  for (let n; (n = fs.readSync(0, chunk, 0, chunk.length, null)) > 0; ) {
    port.onmessage({ data: new Uint8Array(chunk.buffer, chunk.byteOffset, n) });
  }
}

main();
