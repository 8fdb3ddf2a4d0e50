import json
import resource
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from lengthwise.errors import InputError
from lengthwise.training.checkpoint import (
    FORMAT,
    agree,
    copy_into,
    load_state,
    load_tensors,
    remove_leftovers,
    save_checkpoint,
)

SMALL = {"model/w": torch.arange(12.0).view(1, 3, 4), "optimizer/w/square": torch.full((1, 3, 4), 0.5)}


def save(folder, tensors=SMALL, step=3, **changes):
    facts = {"finished": False, "seconds": 1.5, "records_size": 77}
    save_checkpoint(folder, tensors, step=step, **{**facts, **changes})


def load(folder):
    state = load_state(folder)
    return state, load_tensors(folder, state)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refused(folder, file):
    """The one line that loading is refused with; it names the file."""
    with pytest.raises(InputError) as error:
        load(folder)
    text = str(error.value)
    assert "\n" not in text
    assert str(folder / file) in text
    return text


def assert_small(folder, step=3):
    state, tensors = load(folder)
    assert state.step == step
    assert tensors.keys() == SMALL.keys()
    assert all(torch.equal(tensors[key], SMALL[key]) for key in SMALL)


TENSORS = "step-000000003.safetensors"


def test_round_trip(tmp_path):
    assert load_state(tmp_path) is None
    save(tmp_path)
    assert load_state(tmp_path)
    assert_small(tmp_path)
    state = load_state(tmp_path)
    assert (state.finished, state.seconds, state.records_size, state.format) == (False, 1.5, 77, FORMAT)
    assert names(tmp_path) == ["state.json", TENSORS]


def test_views_of_a_stack_are_saved_by_themselves(tmp_path):
    """Members are slices of one tensor, and tied or transposed views are no reason to fail."""
    whole = torch.arange(24.0).view(2, 3, 4)
    save(tmp_path, {"a": whole[1:2], "same": whole[1:2], "turned": whole[:1].mT})
    _, tensors = load(tmp_path)
    assert torch.equal(tensors["a"], whole[1:2]) and torch.equal(tensors["same"], whole[1:2])
    assert torch.equal(tensors["turned"], whole[:1].mT)


def test_old_files_are_removed(tmp_path):
    save(tmp_path, step=1)
    (tmp_path / "step-000000002.safetensors.new").write_bytes(b"torn by a crash")
    save(tmp_path, step=3)
    assert names(tmp_path) == ["state.json", TENSORS]


def test_a_step_saved_again_when_all_is_done(tmp_path):
    """Until state.json is replaced, the tensors it names are those it was written with."""
    save(tmp_path)
    save(tmp_path, {"model/w": torch.zeros(1, 3)}, finished=True)
    assert load_state(tmp_path).finished
    assert load(tmp_path)[1].keys() == {"model/w"}
    assert names(tmp_path) == ["state.json", "step-000000003-done.safetensors"]


def test_leftovers_of_a_crash_are_removed_and_nothing_else(tmp_path):
    save(tmp_path)
    for name in ("step-000000001.safetensors", "step-000000004.safetensors.new", "notes.txt"):
        (tmp_path / name).write_text("x")
    remove_leftovers(tmp_path, load_state(tmp_path))
    assert names(tmp_path) == ["notes.txt", "state.json", TENSORS]
    assert_small(tmp_path)


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_a_file_cut_short(tmp_path, kept):
    save(tmp_path)
    path = tmp_path / TENSORS
    path.write_bytes(path.read_bytes()[:kept])
    assert "cut short" in refused(tmp_path, TENSORS)


def test_a_file_of_the_right_size_with_other_content(tmp_path):
    save(tmp_path)
    path = tmp_path / TENSORS
    path.write_bytes(b"x" * path.stat().st_size)
    refused(tmp_path, TENSORS)


def test_a_missing_file(tmp_path):
    save(tmp_path)
    (tmp_path / TENSORS).unlink()
    assert "missing" in refused(tmp_path, TENSORS)


@pytest.mark.parametrize("content", ['{"epoch": 3}', "[1, 2]", "null", '{"step": 3', "\x00\x01"])
def test_a_foreign_state(tmp_path, content):
    save(tmp_path)
    (tmp_path / "state.json").write_text(content)
    refused(tmp_path, "state.json")


def test_a_state_that_is_no_text(tmp_path):
    save(tmp_path)
    (tmp_path / "state.json").write_bytes(b"\xff\xfe\x00")
    refused(tmp_path, "state.json")


def test_another_format_is_named_with_the_allowed_one(tmp_path):
    save(tmp_path)
    content = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**content, "format": "lengthwise-checkpoint-9"}))
    text = refused(tmp_path, "state.json")
    assert "'lengthwise-checkpoint-9'" in text and repr(FORMAT) in text


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({**SMALL, "model/w": torch.zeros(1, 3, 5)}, ("model/w", "(1, 3, 5)", "(1, 3, 4)")),
        ({"model/w": SMALL["model/w"]}, ("optimizer/w/square", "missing")),
        ({**SMALL, "model/extra": torch.zeros(1)}, ("model/extra", "missing")),
        ({"transformer.wte.weight": torch.zeros(5, 2)}, ("does not fit this model",)),
    ],
)
def test_tensors_of_another_model(tmp_path, found, words):
    save(tmp_path, found)
    _, tensors = load(tmp_path)
    targets = {key: torch.zeros_like(tensor) for key, tensor in SMALL.items()}
    with pytest.raises(InputError) as error:
        copy_into(targets, tensors, tmp_path)
    text = str(error.value)
    assert "\n" not in text and str(tmp_path) in text
    assert all(word in text for word in words), text
    assert all((tensor == 0).all() for tensor in targets.values()), "nothing is copied in part"


def test_copy_into_fills_slices_of_a_stack(tmp_path):
    save(tmp_path)
    stack = {key: torch.zeros(2, 3, 4) for key in SMALL}
    copy_into({key: tensor[1:2] for key, tensor in stack.items()}, load(tmp_path)[1], tmp_path)
    assert all(torch.equal(stack[key][1:], SMALL[key]) and not stack[key][0].any() for key in SMALL)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting is not permitted here: {error}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk):
    save(small_disk, step=3)
    with pytest.raises(InputError) as error:
        save(small_disk, {"model/w": torch.zeros(1, 100_000)}, step=4)
    text = str(error.value)
    assert "\n" not in text
    assert "step-000000004.safetensors" in text and "No space left" in text
    assert_small(small_disk)
    assert names(small_disk) == ["state.json", TENSORS], "nothing half-written is left to fill the disk"


def test_a_disk_too_full_for_the_state(small_disk):
    """The tensors fit and state.json does not: the state before them still counts."""
    save(small_disk, step=3)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as handle:
        while True:
            handle.write(bytes(4096))
    with filler.open("r+b") as handle:
        handle.truncate(filler.stat().st_size - 4096)  # room for one page: the tensors
    with pytest.raises(InputError, match=r"cannot write .*state\.json: No space left"):
        save(small_disk, step=4)
    assert_small(small_disk)
    assert not list(small_disk.glob("*.new")), "nothing half-written is left to fill the disk"


def under_a_file_limit(folder, limit):
    """What saving too large a file says, in a process that may write files of up to `limit` bytes."""
    script = f"""
import pathlib, resource, signal, torch
from lengthwise.errors import InputError
from lengthwise.training.checkpoint import save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    save_checkpoint(pathlib.Path({str(folder)!r}), {{"w": torch.zeros(1, 100_000)}}, step=4, finished=False,
                    seconds=0.0, records_size=0)
except InputError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return ran.stdout


@pytest.mark.skipif(
    not hasattr(signal, "SIGXFSZ") or not hasattr(resource, "RLIMIT_FSIZE"), reason="no such limit"
)
def test_a_file_that_grows_too_large(tmp_path):
    save(tmp_path)
    text = under_a_file_limit(tmp_path, 10_000)
    assert text.count("\n") == 1
    assert "cannot write" in text and "step-000000004.safetensors" in text and "File too large" in text
    assert_small(tmp_path)
    assert names(tmp_path) == ["state.json", TENSORS]


def test_a_safetensors_file_from_elsewhere_in_place_of_ours(tmp_path):
    save(tmp_path)
    save_file({"theirs": torch.zeros(7)}, tmp_path / TENSORS)
    assert "replaced" in refused(tmp_path, TENSORS)


def test_no_pickle_is_ever_read(tmp_path):
    save(tmp_path)
    path = tmp_path / TENSORS
    torch.save(SMALL, path)
    content = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**content, "tensors_size": path.stat().st_size}))
    refused(tmp_path, TENSORS)


def test_a_state_that_names_a_file_elsewhere(tmp_path):
    """state.json names a file beside it, not any file of the machine."""
    for name in ("other", "own"):
        (tmp_path / name).mkdir()
        save(tmp_path / name)
    content = json.loads((tmp_path / "own" / "state.json").read_text())
    changed = {**content, "tensors": f"../other/{TENSORS}"}
    (tmp_path / "own" / "state.json").write_text(json.dumps(changed))
    refused(tmp_path / "own", "state.json")


STACK = ("one", "two")
NEXT = "step-000000004.safetensors"


@pytest.fixture
def stack(tmp_path):
    """Checkpoint folders of two runs that have both written step 3 as a stack."""
    folders = [tmp_path / name / "checkpoint" for name in STACK]
    for folder in folders:
        folder.mkdir(parents=True)
        save(folder, stack=STACK)
    agree(folders)
    return folders


def test_a_stack_s_checkpoint_counts_when_all_have_it(stack):
    assert [names(folder) for folder in stack] == [["state.json", TENSORS]] * 2
    for folder in stack:
        save(folder, step=4, stack=STACK)
        assert names(folder) == ["previous.json", "state.json", TENSORS, NEXT]
    agree(stack)
    assert [names(folder) for folder in stack] == [["state.json", NEXT]] * 2


def test_who_is_ahead_of_its_stack_goes_back(stack):
    save(stack[0], step=4, stack=STACK)
    agree(stack)
    assert [names(folder) for folder in stack] == [["state.json", TENSORS]] * 2
    assert_small(stack[0])


def test_who_is_ahead_with_a_first_checkpoint_starts_anew(tmp_path):
    folders = [tmp_path / name / "checkpoint" for name in STACK]
    for folder in folders:
        folder.mkdir(parents=True)
    save(folders[0], stack=STACK)
    agree(folders)
    assert not any(load_state(folder) for folder in folders)


def test_a_member_that_is_not_asked_for_holds_nobody_back(stack):
    save(stack[0], step=4, stack=STACK)
    agree(stack[:1])
    assert names(stack[0]) == ["state.json", NEXT]
