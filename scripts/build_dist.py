"""Build wheel and sdist into dist/, with links and pictures that work on PyPI: scripts/build_dist.py REPOSITORY.

The README links files of the repository by their paths, which PyPI does not have. The repository does not know its
own address, so it is an argument, such as https://github.com/NAME/lengthwise. Links go to the tag of the version,
such as v0.1.0, which must exist there.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import lengthwise

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def linked_readme(readme: str, repository: str, tag: str) -> str:
    """The README with addresses instead of paths.

    >>> linked_readme("![a](docs/a.png) [b](docs/b.md#c) [d](https://d.org)", "https://x.org/y", "v1")
    '![a](https://x.org/y/raw/v1/docs/a.png) [b](https://x.org/y/blob/v1/docs/b.md#c) [d](https://d.org)'
    """

    def address(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        return f"{picture}{text}({repository}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return LINK.sub(address, readme)


def linked_project(pyproject: str, repository: str, tag: str) -> str:
    """pyproject.toml with the URLs that PyPI shows beside the README."""
    urls = {
        "Repository": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/usage.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    head = "[project.urls]\n"
    assert pyproject.count(head) == 1, "pyproject.toml has no [project.urls]"
    return pyproject.replace(head, head + "".join(f'{name} = "{url}"\n' for name, url in urls.items()))


def main(repository: str) -> None:
    tag = f"v{lengthwise.__version__}"
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as tracked:
            tracked.extractall(folder, filter="data")
        for name, linked in (("README.md", linked_readme), ("pyproject.toml", linked_project)):
            path = Path(folder) / name
            path.write_text(linked(path.read_text(), repository, tag))
        command = [sys.executable, "-m", "build", "--outdir", ROOT / "dist", folder]
        subprocess.run(command, check=True)
    print(f"The links need the tag {tag} in {repository}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        sys.exit("usage: make dist REPOSITORY=https://github.com/NAME/lengthwise")
    main(sys.argv[1].rstrip("/"))
