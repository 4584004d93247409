"""torch.utils.data._utils, by which programs import what `collate` has."""

import sys

from . import collate

sys.modules[f"{__name__}.collate"] = collate
