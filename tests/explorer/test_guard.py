import pytest

from lengthwise.explorer.guard import known_host


@pytest.mark.parametrize(
    ("header", "bound", "known"),
    [
        ("127.0.0.1:8710", "127.0.0.1", True),
        ("localhost:8710", "127.0.0.1", True),
        ("LOCALHOST", "127.0.0.1", True),
        ("[::1]:8710", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example:8710", "127.0.0.1", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("192.168.0.7:8710", "127.0.0.1", False),
        ("192.168.0.7:8710", "192.168.0.7", True),
        ("192.168.0.7:8710", "0.0.0.0", True),
        ("[fe80::1]:8710", "::", True),
        ("evil.example:8710", "0.0.0.0", False),
        ("evil.example:8710", "::", False),
        ("laptop.lan:8710", "laptop.lan", True),
    ],
)
def test_only_names_of_this_server_are_known(header, bound, known):
    assert known_host(header, bound) == known


def test_a_request_under_another_name_is_refused(server):
    with server.client() as client:
        for path in ("/", "/api/runs", "/report"):
            reply = client.get(path, headers={"Host": "evil.example"})
            assert reply.status_code == 400 and "evil.example" in reply.json()["error"]


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/api/runs", "/api/explain?base=99", "/nothing", "/openapi.json"]
)
def test_the_content_policy_forbids_what_is_outside(server, path):
    with server.client() as client:
        policy = client.get(path).headers["content-security-policy"]
    allowed = {word for part in policy.split(";") for word in part.split()[1:]}
    assert allowed <= {"'none'", "'self'", "data:"}
    assert policy.startswith("default-src 'none'")


def test_the_policy_of_a_report_lets_nothing_be_fetched(server):
    with server.client() as client:
        policy = client.get("/report?run=nothing").headers["content-security-policy"]
    assert "connect-src" not in policy and policy.startswith("default-src 'none'") and "http" not in policy
