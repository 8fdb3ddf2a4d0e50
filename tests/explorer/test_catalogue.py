import pytest

from lengthwise.commands.share import Explore
from lengthwise.errors import InputError
from lengthwise.explorer import RefusedError
from lengthwise.explorer import runs as runs_module
from lengthwise.explorer.runs import DEFAULT_ROOTS, Catalogue


@pytest.fixture
def root(tmp_path):
    for name in ("runs/one", "runs/group/two", "runs/a/b/three", "runs/a/b/c/too-deep", "elsewhere/secret"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "runs/one/checkpoint").mkdir()
    (tmp_path / "runs/one/checkpoint/state.json").write_text("{}")
    (tmp_path / "runs/one/inner").mkdir()
    (tmp_path / "runs/one/inner/config.json").write_text("{}")
    return tmp_path


def test_run_folders_are_found_by_name(root):
    catalogue = Catalogue([root / "runs"])
    assert list(catalogue.listed()[0]) == ["runs/a/b/three", "runs/group/two", "runs/one"]
    assert catalogue.run("runs/one") == root / "runs/one"


def test_only_runs_with_a_checkpoint_can_be_asked_and_shipped_ones_come_first(root):
    names = list(Catalogue([root / "runs"]).models())
    assert names == ["addition", "coupled-addition", "coupled-multiplication", "mod-100", "mod-101", "runs/one"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "runs/../elsewhere/secret", "../elsewhere/secret", "runs/one/", "RUNS/ONE", "runs/one\0"],
)
def test_a_name_is_never_a_path(root, name):
    catalogue = Catalogue([root / "runs"])
    for find in (catalogue.run, catalogue.model):
        with pytest.raises(RefusedError) as refusal:
            find(name)
        assert refusal.value.status == 404
    with pytest.raises(RefusedError):
        catalogue.run(str(root / "runs" / "one"))


def test_a_link_to_elsewhere_is_not_followed(root):
    (root / "runs" / "link").symlink_to(root / "elsewhere")
    assert not any("secret" in name for name in Catalogue([root / "runs"]).listed()[0])


def test_folders_of_one_name_stay_apart(root):
    (root / "other" / "runs" / "one").mkdir(parents=True)
    (root / "other" / "runs" / "one" / "config.json").write_text("{}")
    names = Catalogue([root / "runs", root / "other" / "runs"]).listed()[0]
    assert {str(path) for path in names.values()} >= {str(root / "runs/one"), str(root / "other/runs/one")}


def test_no_more_are_listed_than_the_bound_says(root, monkeypatch):
    monkeypatch.setattr(runs_module, "MAX_LISTED", 2)
    catalogue = Catalogue([root / "runs"])
    runs, left_out = catalogue.listed()
    assert list(runs) == ["runs/a/b/three", "runs/group/two"]
    assert left_out == 1


def test_folders_come_in_the_order_given_and_the_last_is_cut(root, monkeypatch):
    roots = [root / "runs", root / "elsewhere"]
    runs, left_out = Catalogue(roots).listed()
    assert list(runs) == ["runs/a/b/three", "runs/group/two", "runs/one", "elsewhere/secret"]
    assert left_out == 0
    monkeypatch.setattr(runs_module, "MAX_LISTED", 3)
    runs, left_out = Catalogue(roots).listed()
    assert list(runs) == ["runs/a/b/three", "runs/group/two", "runs/one"]
    assert left_out == 1


def test_a_folder_that_was_named_must_be_there(root):
    (root / "a-file").write_text("")
    for missing in (root / "missing", root / "a-file"):
        with pytest.raises(InputError, match=f"no folder {missing} "):
            Catalogue([root / "runs", missing])


def test_the_default_folders_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Explore().runs == DEFAULT_ROOTS
    assert Catalogue(Explore().runs).listed() == ({}, 0)
    with pytest.raises(InputError, match="no folder runs"):
        Catalogue(DEFAULT_ROOTS[:1])
