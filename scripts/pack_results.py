"""Packs the run folders of recipes into results/: scripts/pack_results.py runs/full, or --unpack for the reverse.

Each recipe becomes RECIPE.json and RECIPE.parquet. Unpacked, the run folders are as they were, to the byte:
`lengthwise reproduce --out FOLDER` goes on with them, and does not redo what is finished.
"""

import argparse
import sys
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.records.folder import pack, unpack

RESULTS = Path(__file__).parent.parent / "results"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results as run folders: the --out of lengthwise reproduce")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where packed results are")
    parser.add_argument("--unpack", action="store_true", help="restore the run folders instead")
    options = parser.parse_args()
    try:
        if options.unpack:
            print(f"{len(unpack(options.results, options.folder))} run folders in {options.folder}/runs")
        else:
            print(*pack(options.folder, options.results), sep="\n")
    except InputError as error:
        sys.exit(str(error))
