"""The server as a whole: replies, bounds, many clients at once, and its end."""

import asyncio
import html
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from serving import children, serving, stop

from lengthwise.cli import main
from lengthwise.explorer import MAX_LISTED, MAX_QUEUED_TOKENS
from lengthwise.runs.load import load

WEIRD = [
    *("", " ", "0", "-1", "1e9", "NaN", "null", "true", "[]", "{}", "é", "𝟜", "٣", "\0", "\n", "%00", "\ufeff"),
    *("../..", "/etc/passwd", "'; --", "<b>", "9" * 99, "x" * 201, "D101", "D1..", "1/0*D1", "D5..2", "1" * 150),
]
STRANGER = "modulos"
SOUND = {
    "operation": ["add", "mul"],
    "modulus": ["", "1", "7", "100", "101", "150", "10" * 15],
    "base": ["2", "3", "10", "36"],
    "train": ["D4", "B4", "D1..4", "D4+D5", "0.6*D6+0.4*D7", "D4[lead>=1]", "D100"],
    "test": ["", "D1..9", "B5,B6", "D100", "D1..100"],
    "encoding": ["learned", "coupled", "rotary", "none", "randomized:fire"],
    "layout": ["", "padded", "aligned", "descending", "reversed", "level", "plain", "scratchpad"],
    "a": ["0", "1", "10", "101"],
    "b": ["0", "11", "01", "1 0"],
    "draw": ["0", "5"],
    "offset": ["0", "100", "9" * 15],
    "model": ["addition", "mod-100"],
    "run": ["runs/broken", "runs/torn"],
}


def requests(description: dict, sound: dict, count: int):
    """Requests made from the API's own description: sound values, weird ones, some left out, some given twice."""
    generator = random.Random(7)
    operations = [
        (path, operation.get("parameters", []))
        for path, methods in description["paths"].items()
        for operation in methods.values()
    ]
    for _ in range(count):
        path, parameters = generator.choice(operations)
        wildness = generator.choice([0, 0.15, 0.6])
        query = [(STRANGER, "1")] if generator.random() < 0.05 else []
        for name in (parameter["name"] for parameter in parameters):
            wild = generator.random() < wildness
            times = generator.choice([0, 1, 2]) if wild else 1
            query += [(name, generator.choice(WEIRD if wild else sound[name])) for _ in range(times)]
        yield path, query


@pytest.mark.slow
def test_no_request_makes_the_server_fail(server):
    with server.client() as client:
        description = client.get("/openapi.json").json()
        assert len(description["paths"]) >= 9
        listed = [run["name"] for run in client.get("/api/runs").json()["runs"]]
        sound = SOUND | {"run": listed, "model": [*SOUND["model"], *listed]}
        seen = set()
        # LENGTHWISE_FUZZ=20000 asks more, by hand.
        for path, query in requests(description, sound, int(os.environ.get("LENGTHWISE_FUZZ", "800"))):
            reply = client.get(path, params=query)
            assert reply.status_code < 500, (path, query, reply.text)
            if reply.status_code >= 400 and path != "/report":
                assert set(reply.json()) == {"error", "field"}, (path, query, reply.text)
            if (STRANGER, "1") in query:
                assert reply.status_code == 422 and STRANGER in reply.text, (path, query, reply.text)
            seen.add((path, reply.status_code))
    for path in description["paths"]:
        assert (path, 200) in seen, f"{path} was never asked anything sound"
        assert not description["paths"][path]["get"].get("parameters") or (path, 422) in seen, path


def test_every_route_refuses_parameters_it_does_not_know(server):
    with server.client() as client:
        for path, methods in client.get("/openapi.json").json()["paths"].items():
            known = [parameter["name"] for parameter in methods["get"].get("parameters", [])]
            reply = client.get(path, params={name: SOUND[name][0] for name in known} | {STRANGER: "3"})
            assert reply.status_code == 422, path
            allowed = f"choose from {', '.join(known)}" if known else "there are none here"
            assert f"unknown parameter '{STRANGER}' ({allowed})" in html.unescape(reply.text), path
            if path != "/report":
                assert reply.json()["field"] == STRANGER


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_only_reading_is_allowed(server, method):
    with server.client() as client:
        for path in ("/api/explain", "/api/runs", "/"):
            assert client.request(method, path, content=b"x" * 10_000).status_code == 405


@pytest.mark.parametrize(
    ("path", "status", "named"),
    [
        ("/api/predict?train=D101", 422, "100"),
        ("/api/predict?test=D1..100,D1", 422, "100"),
        (f"/api/predict?train={'D' * 201}", 422, "200"),
        (f"/api/ask?model=addition&a={'1' * 200}&b=1", 422, "up to 10 here"),
        ("/api/ask?model=runs/none&a=1&b=1", 404, "runs/none"),
        ("/api/ask?model=runs/torn&a=1&b=1", 409, "cannot load this model"),
        ("/api/ask?model=addition&a=1", 422, "b is missing"),
        ("/api/verdicts?run=runs/broken", 422, "run broken cannot be read"),
        ("/api/nothing", 404, "Not Found"),
    ],
)
def test_a_refusal_says_why(server, path, status, named):
    with server.client() as client:
        reply = client.get(path)
        assert reply.status_code == status and named in reply.json()["error"]
        assert client.get("/api/explain").status_code == 200


def answer(client: httpx.Client, model: str, a: int, b: int) -> dict:
    lines = client.get("/api/ask", params={"model": model, "a": str(a), "b": str(b)}).text.splitlines()
    return json.loads(lines[0])["problem"] | json.loads(lines[-1])["answer"]


def test_fifty_clients_at_once_get_right_answers(server):
    """The model's own answers, as the command line has them, and exact predictions."""
    generator = random.Random(1)
    pairs = [(generator.randrange(100), generator.randrange(100)) for _ in range(50)]
    names = ["addition", "mod-100", "mod-101", "coupled-addition"]
    expected = [load(names[i % 4], device="cpu").ask(*pair) for i, pair in enumerate(pairs)]

    def ask(i: int) -> tuple[dict, dict]:
        with server.client() as client:
            told = client.get("/api/explain", params={"modulus": str(i + 2), "a": "99999", "b": str(i)}).json()
            return answer(client, names[i % 4], *pairs[i]), told["example"]

    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(ask, range(50)))
    for i, (reply, example) in enumerate(replies):
        assert reply["answered"] == str(expected[i].answered)
        assert reply["truth"] == str(expected[i].truth)
        assert reply["predicted"] == str(expected[i].predicted)
        assert example["truth"] == str((99999 + i) % (i + 2))
        assert example["predicted"] == str((9999 + i) % (i + 2))


def test_more_long_questions_than_the_queue_holds(server):
    """The first are answered in order and know their place, the last are refused, and all else stays quick."""
    digits, many = 1_000, 25
    held = MAX_QUEUED_TOKENS // (2 * digits + 3)
    long = {"model": "coupled-addition", "a": "7" * digits, "b": "9" * digits}
    short = long | {"a": "1", "b": "2"}

    async def ask(client: httpx.AsyncClient, told: list, enough: asyncio.Event) -> None:
        async with client.stream("GET", "/api/ask", params=long) as reply:
            lines = reply.aiter_lines()
            events = [json.loads(await anext(lines))]
            if reply.status_code == 200:
                events.append(json.loads(await anext(lines)))
            told.append((reply.status_code, events))
            if len(told) == many:
                enough.set()
            await enough.wait()

    async def crowd() -> list:
        async with httpx.AsyncClient(base_url=server.address, timeout=120) as client:
            assert (await client.get("/api/ask", params=short)).status_code == 200
            told, enough = [], asyncio.Event()
            asking = [asyncio.ensure_future(ask(client, told, enough)) for _ in range(many)]
            while len(told) < many - held:
                await asyncio.sleep(0.05)
            for path in ("/api/explain", "/api/predict", "/api/check", "/api/runs", "/api/models", "/"):
                assert (await client.get(path, timeout=20)).status_code == 200
            await asyncio.gather(*asking)
            # All of them have left: nobody is before this one.
            lines = (await client.get("/api/ask", params=short, timeout=20)).text.splitlines()
            assert json.loads(lines[-1])["answer"]["answered"] == "3"
            return told

    told = asyncio.run(crowd())
    refused = [events[0]["error"] for status, events in told if status == 429]
    accepted = [events for status, events in told if status == 200]
    assert len(refused) + len(accepted) == many and held <= len(accepted) <= held + 2
    assert all(error.startswith("too many questions are waiting (try again in about ") for error in refused)
    assert all(set(events[0]) == {"problem"} for events in accepted)
    places = [events[1]["waiting"]["position"] for events in accepted if "waiting" in events[1]]
    assert len(places) >= held - 2 and len(set(places)) > held / 2


def test_an_answer_comes_token_by_token_with_probabilities(server):
    with server.client() as client:
        lines = client.get("/api/ask", params={"model": "addition", "a": "12", "b": "34"}).text.splitlines()
    tokens = [json.loads(line)["token"] for line in lines[1:-1]]
    digits = [token["text"] for token in tokens if token["kind"] == "digit"]
    assert int("".join(reversed(digits))) == int(json.loads(lines[-1])["answer"]["answered"])
    assert all(0 < token["probability"] <= 1 for token in tokens)
    assert tokens[-1]["text"] == "[eos]"


def test_attention_is_of_the_place_that_wrote_each_token(server):
    with server.client() as client:
        reply = client.get("/api/attention", params={"model": "addition", "a": "12", "b": "34"}).json()
    read, whole = reply["prompt_length"], len(reply["tokens"])
    assert reply["nothing"] is None
    assert len(reply["places"]) == read and reply["no_dependence"] is None
    for layer in reply["layers"]:
        assert len(layer) == whole - read
        for place, weights in enumerate(layer):
            assert sum(share for _, share in weights) == pytest.approx(1, abs=0.1)
            assert all(share >= 0.005 and to < read + place for to, share in weights)
    spread = [sum(-w * math.log(w) for row in layer for _, w in row) for layer in reply["layers"]]
    assert reply["sharpest"] == spread.index(min(spread)) != len(spread) - 1


def test_what_counts_for_a_look_inside_is_the_problem_asked(server):
    """Not the thousand digits that the model could read."""
    parameters = {"model": "coupled-addition", "a": "7" * 60, "b": "9" * 60}
    with server.client() as client:
        attention, dependence = (
            client.get(f"/api/{look}", params=parameters, timeout=30) for look in ("attention", "dependence")
        )
    assert attention.json()["no_dependence"] is None and len(attention.json()["tokens"]) > 180
    (layer,), (nothing,) = attention.json()["layers"], attention.json()["nothing"]
    for row, share in zip(layer, nothing, strict=True):
        rounding = 5e-5 * (len(row) + 1)
        assert 0 <= share <= 1 + rounding - sum(weight for _, weight in row)
    *within, _, above, _, _ = nothing
    assert above > 1.5 * max(within), "where no digit stands"
    causes = dependence.json()["causes"]
    assert [(c["operand"], c["significance"]) for c in causes] == [(n, i + 1) for n in "ab" for i in range(60)]
    # A model that errs may keep a wrong digit.
    assert sum(cause["changes"][cause["significance"] - 1] for cause in causes) > 0.8 * len(causes)


def test_a_report_on_chosen_runs(server):
    with server.client() as client:
        names = [run["name"] for run in client.get("/api/runs").json()["runs"] if not run["error"]][:2]
        reply = client.get("/report", params={"run": names})
    assert reply.status_code == 200 and reply.text.lstrip().lower().startswith("<!doctype html")


LONG = {"operation": "mul", "modulus": "19997", "test": "D5..40"}


def ignore_interrupts() -> None:
    """As a shell does for what runs in its background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("before", [None, ignore_interrupts])
def test_ctrl_c_stops_it(before):
    with serving(preexec_fn=before) as running:
        with running.client() as client:
            assert client.get("/api/explain").status_code == 200
        assert stop(running) == 130
        with pytest.raises(httpx.ConnectError):
            httpx.get(running.address)


@pytest.mark.parametrize("before", [None, ignore_interrupts])
def test_ctrl_c_stops_it_at_once(before):
    """Also while it still starts."""
    with serving(preexec_fn=before) as running:
        assert stop(running) == 130


def test_ctrl_c_stops_it_while_it_works():
    with serving() as running, running.client() as client, ThreadPoolExecutor(1) as pool:
        client.get("/api/explain")
        asking = pool.submit(client.get, "/api/predict", params=LONG)
        wait_for(lambda: len(busy(children(running.process.pid))) == 1)
        assert not asking.done()
        assert stop(running) == 130
        assert asking.exception(timeout=10) or asking.result().status_code >= 400
        assert running.process.stdout.read() == "stopped\n"


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_server(by):
    """Not even one that counts, of a server that could not say goodbye."""
    with serving() as running, running.client() as client, ThreadPoolExecutor(1) as pool:
        client.get("/api/explain")
        asking = pool.submit(client.get, "/api/predict", params=LONG)
        workers = children(running.process.pid)
        assert len(workers) >= 2
        wait_for(lambda: len(busy(workers)) == 1)
        assert stop(running, by) == -by
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        assert asking.exception(timeout=10) or asking.result().status_code >= 400


def busy(processes: set[int]) -> list[int]:
    """Those that have computed for more than their start takes."""
    ticks = os.sysconf("SC_CLK_TCK")

    def seconds(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    return [pid for pid in processes if seconds(pid) > 2]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.05)


def test_a_port_in_use_is_one_line_and_exit_code_2(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as refused:
        main(["explore", "--no-browser", "--port", str(taken.getsockname()[1])])
    assert refused.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "port" in line and "--port 0" in line


@pytest.mark.parametrize("host", ["a" * 300, "no..such", "nowhere.invalid"])
def test_a_host_that_is_none_is_one_line_and_exit_code_2(capsys, host):
    with pytest.raises(SystemExit) as refused:
        main(["explore", "--no-browser", "--port", "0", "--host", host])
    assert refused.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "host" in line or "cannot serve at" in line
    assert len(line) < 200


def test_a_folder_that_is_not_there_is_one_line_and_exit_code_2(tmp_path):
    missing = tmp_path / "missing"
    command = [sys.executable, "-m", "lengthwise", "explore", "--no-browser", "--port", "0", "--runs", missing]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and not ended.stdout
    (line,) = ended.stderr.splitlines()
    assert f"no folder {missing}" in line and "--runs" in line


def test_the_list_of_runs_says_how_many_are_left_out(crowded):
    with crowded.client() as client:
        reply = client.get("/api/runs").json()
    assert len(reply["runs"]) == MAX_LISTED and reply["left_out"] == 3
    assert reply["runs"][0]["name"] == "runs/mine" and reply["runs"][1]["name"] == "results/0000"


def test_a_whole_list_leaves_nothing_out(server):
    with server.client() as client:
        assert client.get("/api/runs").json()["left_out"] == 0


def test_another_host_than_this_machine_warns():
    with serving("--host", "0.0.0.0") as running:
        assert "warning" in running.said and "0.0.0.0" in running.said
