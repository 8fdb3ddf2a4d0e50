"""What scripts/pack_results.py does, for tests of packed results."""

import runpy
from pathlib import Path

_script = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "pack_results.py"))
pack, unpack = _script["pack"], _script["unpack"]
