"""Times across SMs without a clock rate: they are no cycles, and are not called so."""

import numpy as np
import pytest

import mgpu_trace
from mgpu_trace.analyse.source import is_one_axis

# Four SMs with one block each, 2048 ns apart: a persistent kernel, from which no rate can be estimated.
STARTS_NS = (1000, 3048, 5096, 7144)


def saved(path, n_sms):
    rows = [[start, i % n_sms, 4, 0, 100, 1 << 31, 10_100] for i, start in enumerate(STARTS_NS)]
    np.save(path, np.array(rows, np.uint32).reshape(-1))
    return path


def opened(path, mhz=None):
    options = mgpu_trace.SpecOptions(
        grid=(4, 1, 1), block=(128, 1, 1), words_per_track=7, names=("work",), sm_clock_mhz=mhz
    )
    return mgpu_trace.open_launch(path, options)


@pytest.mark.parametrize(("n_sms", "mhz", "known"), [(4, None, False), (4, 1000.0, True), (1, None, True)])
def test_the_duration_of_a_launch_is_known_where_its_sms_can_be_compared(tmp_path, n_sms, mhz, known):
    launch = opened(saved(tmp_path / "p.npy", n_sms), mhz)
    if n_sms == 1:  # the SM's own counter, which stood at the same in all of them
        assert launch.clock.rate_mhz is None
    assert is_one_axis(launch) is known
    found = mgpu_trace.stats(launch, unit="cyc").facts["launch_cyc"]
    assert (found is not None) is known
    if mhz:
        assert found == 3 * 2048 + 10_000
    (finding,) = [d for d in launch.report if d.code.id == "MGT503"] or [None]
    if mhz is None:
        assert ("SMs are placed by ns" in finding.message) is not known


def test_the_same_buffer_with_and_without_a_rate_is_no_change(tmp_path):
    path = saved(tmp_path / "p.npy", 4)
    table = mgpu_trace.diff(opened(path), opened(path, 1980.0), unit="cyc")
    rows = {row["region"]: row for row in table.rows()}
    assert rows["(launch)"]["mean_old_cyc"] is None
    assert rows["(launch)"]["mean_change"] is None
    assert rows["work"]["mean_change"] == 0
