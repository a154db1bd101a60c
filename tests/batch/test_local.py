"""The same work on many items: order, faults, killed workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import work
from cli_support import environment

from mgpu_trace.batch import each


@pytest.fixture(autouse=True)
def _workers_find_their_work(monkeypatch):
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(Path(__file__).parent), path])))


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_the_order_of_the_items(jobs):
    items = [(n, 0.05 if n % 3 == 0 else 0.0) for n in range(20)]
    counted = []
    found = list(each(work.slow_square, items, jobs=jobs, on_done=counted.append))
    assert [(done.index, done.result) for done in found] == [(n, n * n) for n in range(20)]
    assert counted == list(range(1, 21))


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_item_that_fails_costs_no_other_one(jobs):
    found = list(each(work.odd_ones_fail, range(6), jobs=jobs))
    assert [done.result for done in found] == [0, None, 2, None, 4, None]
    assert [done.error and done.error.message for done in found][1::2] == ["no 1", "no 3", "no 5"]


def test_the_item_that_kills_its_worker_is_named_and_all_others_are_done():
    found = list(each(work.killed_on, [(n, 5) for n in range(12)], jobs=2))
    assert [done.result for done in found] == [*range(5), None, *range(6, 12)]
    assert found[5].error.code.id == "MGT660"


def test_a_worker_that_was_killed_from_outside_costs_nothing(tmp_path):
    counted = []
    items = [(n, str(tmp_path / "mark")) for n in range(12)]
    found = list(each(work.killed_once, items, jobs=2, on_done=counted.append))
    assert [done.result for done in found] == list(range(12))
    assert counted[-1] == 12


def test_work_is_done_by_several_processes_and_one_job_is_this_one():
    assert {done.result for done in each(work.process, range(3), jobs=1)} == {os.getpid()}
    assert os.getpid() not in {done.result for done in each(work.process, range(8), jobs=2)}


def is_there(group):
    """Whether a process group has any process left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_while_workers_start_is_one_traceback_and_no_workers(seconds, tmp_path):
    """Of the first process, which is the test's own and does not catch it."""
    code = (
        "import sys, work\nfrom mgpu_trace.batch import each\n"
        "if __name__ == '__main__':\n    print('go', flush=True)\n"
        "    list(each(work.slow_square, [(n, 0.2) for n in range(200)], jobs=4))\n"
    )
    (tmp_path / "main.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "main.py"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])),
    )
    assert process.stdout.readline() == "go\n"
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the workers as well
    said = process.communicate(timeout=60)[1]
    assert said.count("Traceback") == 1, said
    assert said.rstrip().endswith("KeyboardInterrupt")
    for _ in range(500):  # multiprocessing's own helper ends a moment later
        if not is_there(process.pid):
            break
        time.sleep(0.02)
    assert not is_there(process.pid)


def test_a_fault_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        list(each(work.breaks, range(4), jobs=2))


def test_who_stops_early_waits_for_nobody():
    results = each(work.slow_square, [(n, 0.2 if n else 0.0) for n in range(50)], jobs=2)
    assert next(results).result == 0
    results.close()
