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
        # Some browsers take every name below localhost for this machine, but none of them is ours.
        ("evil.localhost:8710", "127.0.0.1", False),
        ("evil.localhost:8710", "0.0.0.0", False),
        ("localhost.:8710", "127.0.0.1", False),
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


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/api/runs", 200),
        ({"Sec-Fetch-Site": "none"}, "/api/runs", 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "SELF"}, "/api/runs", 200),
        ({"Sec-Fetch-Site": "cross-site"}, "/api/runs", 403),
        # Another server on this machine, as http://localhost:3000, counts as the same site.
        ({"Sec-Fetch-Site": "same-site"}, "/api/runs", 403),
        ({"Sec-Fetch-Site": "cross-site"}, "/app.js", 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, "/", 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}, "/", 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, "/report?run=nothing", 403),
        # Not every browser tells the site, and none does over plain HTTP to another machine.
        ({"Origin": "http://evil.example"}, "/api/runs", 403),
        ({"Origin": "http://evil.example"}, "/", 403),
        ({"Origin": "http://127.0.0.1:3000"}, "/api/runs", 403),
        ({"Origin": "null"}, "/api/runs", 403),
        ({"Origin": "http://["}, "/api/runs", 403),
        ({"Origin": "SELF"}, "/api/runs", 200),
    ],
)
def test_pages_of_other_sites_are_refused_and_links_from_them_are_not(server, headers, path, status):
    own = server.address.rstrip("/")
    with server.client() as client:
        reply = client.get(path, headers={name: value.replace("SELF", own) for name, value in headers.items()})
    assert reply.status_code == status
    assert status == 200 or reply.json() == {"error": "requests from other sites are refused", "field": None}


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/api/runs", "/api/explain?base=99", "/nothing", "/report?run=x"]
)
@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_nothing_is_kept_or_guessed_at(server, path, host):
    """Also not what is refused."""
    with server.client() as client:
        headers = client.get(path, headers={"Host": host}).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "content-security-policy" in headers
