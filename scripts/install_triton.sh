#!/usr/bin/env bash
# Triton, whose interpreter runs GPU kernels on a CPU in tests/training/test_fused.py. It comes with torch where torch is built for GPUs.
set -euo pipefail
"$1" -c 'import triton' 2>/dev/null || "$1" -m pip install --quiet --no-deps 'triton==3.6.0'
