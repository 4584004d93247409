"""detect_anomaly: backward checks every gradient for NaN and names the operation that made it."""

from __future__ import annotations

from .. import _ops
from .._warning import warn_each


class set_detect_anomaly:
    """Turns the check on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _ops.is_anomaly_enabled()
        _ops.set_detect_anomaly(bool(mode) and check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _ops.set_detect_anomaly(self._before)


class detect_anomaly:
    """The check is on within the block."""

    def __init__(self, check_nan: bool = True):
        warn_each(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )
        self._check = check_nan

    def __enter__(self):
        self._before = _ops.is_anomaly_enabled()
        _ops.set_detect_anomaly(self._check)
        return self

    def __exit__(self, *error):
        _ops.set_detect_anomaly(self._before)
