"""Identity providers: real keys, a real key server, and every way in which neither holds."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from turnlog.errors import Unauthorized
from turnlog.ports import User
from turnlog.simulator.listener import listen
from turnlog.testing.apps import SECRET
from turnlog.tokens import mint
from turnlog.transports.access import jwks
from turnlog.transports.access.auth import QUIET, Auth
from turnlog.transports.access.jwks import FRESH, PAUSE, Issuer

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NEXT_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WEAK_RSA = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
FORMS = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}


def public(key, kid, algorithm="RS256", **more):
    form = FORMS.get(algorithm, jwt.algorithms.OKPAlgorithm)
    return form.to_jwk(key.public_key(), as_dict=True) | {"kid": kid, "use": "sig"} | more


@dataclass
class Provider:
    """An identity provider on loopback; its clock is ours, and it does what a test says."""

    keys: list = field(default_factory=lambda: [public(RSA, "one")])
    asked: int = 0  # for its keys
    url: str = ""
    now: float = 0.0
    says: dict = field(default_factory=dict)  # other than usual, when asked who it is
    answer: Response | None = None  # instead of its keys
    hold: asyncio.Event | None = None  # until which it does not answer
    held: asyncio.Event = field(default_factory=asyncio.Event)

    async def discovery(self, request):
        usual = {"issuer": self.url, "jwks_uri": self.url + "/keys"}
        return Response(json.dumps(usual | self.says))

    async def key_set(self, request):
        self.asked += 1
        if self.hold is not None:
            self.held.set()
            await self.hold.wait()
        return self.answer or Response(json.dumps({"keys": self.keys}))

    def auth(self, **more):
        issuer = Issuer(name=self.url, audience=more.pop("audience", "turnlog"))
        return Auth(None, issuer, clock=lambda: self.now, **more)

    def token(self, key=RSA, kid="one", algorithm="RS256", **claims):
        usual = {"iss": self.url, "aud": "turnlog", "sub": "alice", "exp": time.time() + 3600}
        stated = {name: value for name, value in (usual | claims).items() if value is not None}
        headers = {} if kid is None else {"kid": kid}
        return "Bearer " + jwt.encode(stated, key, algorithm=algorithm, headers=headers)


@asynccontextmanager
async def provided(*keys, **more):
    provider = Provider(**({"keys": list(keys)} if keys else {}), **more)
    routes = [
        Route("/.well-known/openid-configuration", provider.discovery),
        Route("/keys", provider.key_set),
    ]
    async with listen(Starlette(routes=routes), "127.0.0.1", 0) as provider.url:
        yield provider


async def refused(auth, header, why="not valid"):
    with pytest.raises(Unauthorized, match=why):
        await auth.identify(header)


# who gets in

KINDS = {"RS256": RSA, "ES256": EC, "EdDSA": ED}


@pytest.mark.parametrize("algorithm", KINDS)
async def test_a_token_of_the_provider_says_who_asks(algorithm):
    async with provided(*(public(key, name, name) for name, key in KINDS.items())) as provider:
        header = provider.token(KINDS[algorithm], algorithm, algorithm)
        assert await provider.auth().identify(header) == User(id="alice")


async def test_keys_at_an_address_of_their_own_need_no_discovery():
    async with provided(says={"issuer": "nobody"}) as provider:
        auth = Auth(None, Issuer(name="an issuer", jwks_url=provider.url + "/keys"))
        header = provider.token(iss="an issuer", aud=None)
        assert (await auth.identify(header)).id == "alice"


@pytest.mark.parametrize("claim", [True, "true", 1, "yes", ["admin"], None])
async def test_an_administrator_is_who_has_true_and_nothing_like_it(claim):
    async with provided() as provider:
        user = await provider.auth(admin_claim="boss").identify(provider.token(boss=claim))
        assert user.admin is (claim is True)


async def test_another_name_for_administrators_replaces_the_usual_one():
    async with provided() as provider:
        header = provider.token(admin=True)
        assert (await provider.auth().identify(header)).admin
        assert not (await provider.auth(admin_claim="boss").identify(header)).admin


# who does not

FALSE = {
    "of another issuer": ({"iss": "https://elsewhere.example"}, "Invalid issuer"),
    "of no issuer": ({"iss": None}, 'missing the "iss" claim'),
    "for another audience": ({"aud": "elsewhere"}, "Audience doesn't match"),
    "for no audience": ({"aud": None}, 'missing the "aud" claim'),
    "that never expires": ({"exp": None}, 'missing the "exp" claim'),
    "not yet valid": ({"nbf": time.time() + 86_400}, "not yet valid (nbf)"),
    "from the future": ({"iat": time.time() + 86_400}, "not yet valid (iat)"),
    "for nobody": ({"sub": None}, 'missing the "sub" claim'),
    "for a number": ({"sub": 5}, "Subject must be a string"),
    "for half a character": ({"sub": "\ud800"}, "cannot be shown"),
    "until a time that no clock shows": ({"exp": 10**400}, ""),
    "signed by another key": ({"key": NEXT_RSA}, "Signature verification failed"),
    "of an unknown key": ({"kid": "two"}, "no key 'two' for RS256"),
    "of no key": ({"kid": None}, "no 'kid'"),
    "of another algorithm": ({"algorithm": "RS512"}, "'alg' not of"),
    "of a key that is another's": ({"key": EC, "algorithm": "ES256"}, "no key 'one' for ES256"),
    "without a signature": ({"key": None, "algorithm": "none"}, "no 'kid', or an 'alg'"),
    "of our own making": ({"key": SECRET, "algorithm": "HS256"}, "'alg' not of"),
}


@pytest.mark.parametrize(("wrong", "why"), FALSE.values(), ids=FALSE)
async def test_a_false_token_is_refused_and_the_log_says_why(wrong, why, caplog):
    async with provided() as provider:
        auth = provider.auth()
        assert (await auth.identify(provider.token())).id == "alice"
        await refused(auth, provider.token(**wrong))
    assert "A token was refused" in caplog.text and why in caplog.text


async def test_whoever_sends_false_tokens_does_not_fill_the_log(caplog):
    async with provided() as provider:
        auth = provider.auth()
        for number in range(5):
            await refused(auth, provider.token(kid=f"key {number}"))
        assert caplog.text.count("A token was refused") == 1
        provider.now += QUIET
        await refused(auth, provider.token(kid="another"))
        assert caplog.text.count("A token was refused") == 2


async def test_an_expired_token_says_so():
    async with provided() as provider:
        await refused(provider.auth(), provider.token(exp=time.time() - 60), "expired")


@pytest.mark.parametrize("sub", ["", "x" * 201])
async def test_a_user_has_a_name_of_reasonable_length(sub):
    async with provided() as provider:
        await refused(provider.auth(), provider.token(sub=sub), "1 to 200")
        await refused(Auth(SECRET), f"Bearer {mint(SECRET, sub)}", "1 to 200")
        assert (await provider.auth().identify(provider.token(sub="x" * 200))).id == "x" * 200


async def test_without_an_audience_of_our_own_tokens_for_others_are_refused():
    async with provided() as provider:
        auth = provider.auth(audience=None)
        await refused(auth, provider.token())
        assert (await auth.identify(provider.token(aud=None))).id == "alice"


def signed_by_hand(claims, secret):
    """PyJWT refuses to sign with a public key; an attacker does not."""
    header = {"alg": "HS256", "typ": "JWT", "kid": "one"}
    parts = [json.dumps(part).encode() for part in (header, claims)]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mac = hmac.new(secret, text, hashlib.sha256).digest()
    return "Bearer " + (text + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


@pytest.mark.parametrize("stated", [{}, {"alg": "HS256"}])
async def test_a_public_key_is_no_secret(stated):
    async with provided(public(RSA, "one", **stated), public(EC, "two", "ES256")) as provider:
        claims = {"iss": provider.url, "aud": "turnlog", "sub": "eve", "exp": time.time() + 60}
        pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        await refused(provider.auth(), signed_by_hand(claims, pem))
        assert provider.asked == 0  # not even worth a question


async def test_a_symmetric_key_in_the_set_is_not_used():
    secret = base64.urlsafe_b64encode(SECRET.encode()).decode()
    async with provided({"kty": "oct", "kid": "one", "k": secret, "alg": "HS256"}) as provider:
        auth = provider.auth()
        await refused(auth, provider.token(SECRET, algorithm="HS256"))
        await refused(auth, provider.token(), "cannot be checked")


@pytest.mark.parametrize("header", ["Bearer é", "Bearer a.b.c", "Bearer " + "[" * 9, "Basic x", ""])
async def test_what_is_no_token_asks_nobody(header):
    async with provided() as provider:
        await refused(provider.auth(), header, "not valid|Send")
        await refused(provider.auth(), provider.token(sub="x" * 20_000))
        assert provider.asked == 0


async def test_a_weak_key_is_not_trusted():
    async with provided(public(WEAK_RSA, "one")) as provider:
        with pytest.warns(jwt.InsecureKeyLengthWarning):
            header = provider.token(WEAK_RSA)
        await refused(provider.auth(), header)


# the provider's keys


async def test_keys_are_fetched_once_and_again_when_they_are_old():
    async with provided() as provider:
        auth, header = provider.auth(), provider.token()
        asked = []
        for provider.now in (0, FRESH - 1, FRESH, FRESH + 1):
            await auth.identify(header)
            asked.append(provider.asked)
        assert asked == [1, 1, 2, 2]


async def test_a_rotated_key_is_found_and_the_old_one_forgotten():
    async with provided() as provider:
        auth = provider.auth()
        await auth.identify(provider.token())
        provider.keys = [public(NEXT_RSA, "two")]
        provider.now += PAUSE
        assert (await auth.identify(provider.token(NEXT_RSA, "two"))).id == "alice"
        await refused(auth, provider.token())


async def test_unknown_keys_do_not_make_us_ask_and_ask():
    async with provided() as provider:
        auth = provider.auth()
        unknown = [provider.token(kid=f"k{n}") for n in range(20)]
        for provider.now in (0, PAUSE - 1, PAUSE):
            await asyncio.gather(*(refused(auth, header) for header in unknown))
        assert provider.asked == 2


async def test_a_slow_provider_delays_only_the_one_who_asks_it():
    async with provided() as provider:
        auth, header = provider.auth(), provider.token()
        await auth.identify(header)
        provider.now, provider.hold = FRESH, asyncio.Event()
        first = asyncio.create_task(auth.identify(header))
        await provider.held.wait()
        assert (await auth.identify(header)).id == "alice"
        assert not first.done()
        provider.hold.set()
        assert (await first).id == "alice"


ANSWERS = {
    "an error": Response("{}", 503),
    "no JSON": Response("<html>"),
    "no keys": Response("[]"),
    "a deep hole": Response("[" * 100_000),
    "too much": Response(json.dumps({"keys": [], "pad": "x" * jwks.MOST_BYTES})),
    "another place": RedirectResponse("/keys"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_provider_in_trouble_costs_no_known_key(answer):
    async with provided() as provider:
        auth, header = provider.auth(), provider.token()
        await auth.identify(header)
        provider.now, provider.answer = FRESH, answer
        assert (await auth.identify(header)).id == "alice"
        assert provider.asked == 2
        await refused(provider.auth(), header, "cannot be checked now")


async def test_a_provider_that_is_down_costs_no_known_key():
    async with provided() as provider:
        auth, header = provider.auth(), provider.token()
        await auth.identify(header)
    provider.now = FRESH
    assert (await auth.identify(header)).id == "alice"
    await refused(provider.auth(), header, "cannot be checked now")


async def test_a_provider_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(jwks, "TIMEOUT", 0.05)
    async with provided(hold=asyncio.Event()) as provider:
        await refused(provider.auth(), provider.token(), "cannot be checked now")


@pytest.mark.parametrize(
    "says", [{"issuer": "https://elsewhere.example"}, {"jwks_uri": "http://elsewhere.example/k"}]
)
async def test_a_provider_that_is_another_is_not_believed(says):
    async with provided(says=says) as provider:
        await refused(provider.auth(), provider.token(), "cannot be checked now")
        assert provider.asked == 0


async def test_keys_that_cannot_be_used_do_not_spoil_the_others():
    odd = [5, {}, {"kty": []}, public(RSA, "one", n="?"), public(EC, "one", "ES256", x="AA")]
    other_use = [public(NEXT_RSA, "two", use="enc"), public(NEXT_RSA, "two", alg="RS512")]
    async with provided(*odd, *other_use, public(RSA, "one")) as provider:
        auth = provider.auth()
        assert (await auth.identify(provider.token())).id == "alice"
        await refused(auth, provider.token(NEXT_RSA, "two"))
