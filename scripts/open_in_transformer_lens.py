"""Open a trained run in TransformerLens, and show where its heads look: scripts/open_in_transformer_lens.py RUN.

RUN is a run folder or a shipped model that is exported as a stock architecture, such as `addition` (GPT-2). This
needs `pip install -c constraints.txt 'transformer-lens>=4.3,<5'`, which is no part of any extra.
"""

import sys
import tempfile
from pathlib import Path

import torch

from lengthwise.interop.huggingface import example, export
from lengthwise.runs.load import load


def main(name: str) -> None:
    try:
        from transformer_lens.model_bridge import TransformerBridge  # noqa: PLC0415 # pyright: ignore
    except ImportError:
        sys.exit(
            "error: transformer_lens is not installed (pip install -c constraints.txt 'transformer-lens>=4.3,<5')"
        )
    run = load(name, device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        architecture = export(run, Path(folder) / "model")
        bridge = TransformerBridge.boot_transformers(f"{folder}/model", device="cpu")
    prompt, answer = example(run.stack, 1234, 5678)
    vocabulary = run.stack.layout.vocabulary
    ids = vocabulary.ids(f"[bos]{prompt}{answer[0]}")
    assert ids is not None
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(torch.tensor([ids]))
        ours = run.stack.model(torch.tensor([[ids]]), torch.arange(len(ids)).view(1, 1, -1))[0]
    print(
        f"{name} as {architecture} in TransformerLens: logits differ by at most {(logits - ours).abs().max():.1e}"
    )
    print(f"It reads {vocabulary.text(ids)}; the token it looks at most for the next digit, by layer and head:")
    for layer in range(run.config.model.layers):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"][0, :, -1]
        print(f"layer {layer}:", " ".join(f"{vocabulary.texts[ids[k]]}@{k}" for k in pattern.argmax(-1).tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:])
