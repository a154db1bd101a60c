// Barriers of a block by number: some threads wait for others that only announce themselves. PTX's bar.sync
// and bar.arrive; a block has 16, of which 0 is __syncthreads().
#ifndef NAMED_BARRIER_CUH
#define NAMED_BARRIER_CUH

// Wait until `n_threads` threads have come to the barrier, those included that only announce themselves.
__device__ __forceinline__ void barrier_sync(int id, int n_threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n_threads) : "memory");
}

// Come to the barrier and go on. What this thread wrote to memory before is seen by those that wait.
__device__ __forceinline__ void barrier_arrive(int id, int n_threads) {
  __threadfence_block();
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n_threads) : "memory");
}

#endif
