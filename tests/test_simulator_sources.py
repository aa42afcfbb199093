"""Documents cited at the right place, images measured by their bytes, pages of a small web."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim_tools import TASK_TOOLS, Chat, spec

from turnlog.simulator import RawBlock, Text
from turnlog.simulator.sources import documents, pictures, web

TEXT = "Grass is green. The sky is blue!\nWater, at 20 °C, is wet. Employees have 25 days of leave."
CITE = {"enabled": True}


def document(source, **more):
    return {"type": "document", "source": source, "citations": CITE, **more}


def plain(text, **more):
    return document({"type": "text", "media_type": "text/plain", "data": text}, **more)


def asked(*blocks, question):
    """The blocks of the answer to a question about these."""
    content = [*blocks, {"type": "text", "text": question}]
    return Chat([], messages=[{"role": "user", "content": content}]).next().blocks


def citations(blocks):
    return [c for block in blocks if isinstance(block, Text) for c in block.citations]


# --- documents ---


def test_a_text_is_cited_by_its_characters():
    (citation,) = citations(asked(plain(TEXT, title="Facts"), question="What color is the sky?"))
    start, end = citation["start_char_index"], citation["end_char_index"]
    assert citation["cited_text"] == TEXT[start:end] == "The sky is blue!\n"
    assert citation["type"] == "char_location"
    assert (citation["document_index"], citation["document_title"]) == (0, "Facts")


def test_the_second_document_has_the_second_index():
    blocks = asked(
        plain("Nothing here."), plain(TEXT), question="How many days of leave do employees have?"
    )
    assert [c["document_index"] for c in citations(blocks)] == [1]
    assert "Employees have 25 days of leave." in [b.text for b in blocks]


def test_own_content_is_cited_by_its_blocks():
    parts = [
        {"type": "text", "text": "The grass is green"},
        {"type": "text", "text": "The sky is blue"},
    ]
    source = {"type": "content", "content": parts}
    found = citations(asked(document(source), question="What color is the grass and the sky?"))
    assert [(c["start_block_index"], c["end_block_index"]) for c in found] == [(0, 1), (1, 2)]
    assert [c["cited_text"] for c in found] == ["The grass is green", "The sky is blue"]


def test_nothing_is_cited_unless_citations_are_on():
    block = plain(TEXT) | {"citations": {"enabled": False}}
    blocks = asked(block, question="What color is the sky?")
    assert citations(blocks) == []
    assert "The sky is blue!" in blocks[-1].text


def test_a_document_without_the_answer_is_said_to_have_none():
    blocks = asked(plain(TEXT), question="Who won the football match yesterday?")
    assert "nothing about that" in blocks[0].text


def test_a_summary_begins_with_the_document():
    blocks = asked(plain(TEXT), question="Summarize this, please")
    assert [c["cited_text"] for c in citations(blocks)][0] == "Grass is green. "


def test_no_text_of_an_answer_is_blank():
    blocks = asked(plain(TEXT), question="Is the grass green, the sky blue and water wet?")
    assert all(block.text.strip() for block in blocks)
    assert len(citations(blocks)) == 3


def test_a_later_question_is_answered_from_the_earlier_document():
    chat = Chat([])
    chat.say([plain(TEXT), {"type": "text", "text": "Read this"}])
    assert "Employees have 25 days of leave." in chat.say(
        "How many days of leave do employees have?"
    )


@given(st.text())
def test_cited_text_is_always_the_text_at_its_place(text):
    for start, end in documents.sentences(text):
        assert text[start:end].strip()
    body = {"messages": [{"role": "user", "content": [plain(text)]}]}
    for passage in documents.passages(body):
        (place,) = passage.citations
        assert text[place["start_char_index"] : place["end_char_index"]] == place["cited_text"]


def pdf(*pages):
    """A smallest PDF with a line of text on each page."""
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
    ]
    for at, text in enumerate(pages):
        font = "<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 200] /Contents {4 + 2 * at} 0 R "
            f"/Resources << /Font {font} >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    whole, offsets = "%PDF-1.4\n", []
    for at, body in enumerate(objects, 1):
        offsets.append(len(whole))
        whole += f"{at} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(whole)}\n%%EOF"
    whole += f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}"
    data = base64.b64encode(whole.encode()).decode()
    return document({"type": "base64", "media_type": "application/pdf", "data": data})


def test_a_pdf_is_cited_by_its_page():
    block = pdf("Chapter one is about grass.", "Employees have 25 days of leave.")
    (citation,) = citations(asked(block, question="How many days of leave do employees have?"))
    assert citation["type"] == "page_location"
    assert (citation["start_page_number"], citation["end_page_number"]) == (2, 3)
    assert citation["cited_text"].strip() == "Employees have 25 days of leave."


@pytest.mark.parametrize("data", ["", "!!!!", base64.b64encode(b"%PDF-1.4 and no more").decode()])
def test_a_file_that_is_no_pdf_is_not_cited(data):
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    (said,) = asked(document(source, title="broken.pdf"), question="What does it say?")
    assert "cannot read any text" in said.text
    assert said.citations == ()


def test_search_results_of_a_tool_are_cited():
    found = {
        "type": "search_result",
        "source": "handbook.md",
        "title": "Handbook",
        "citations": CITE,
        "content": [{"type": "text", "text": "Lunch is at noon."}, {"type": "text", "text": TEXT}],
    }
    chat = Chat([spec("search_documents", "query")])
    chat.messages = [{"role": "user", "content": "search the documents for days of leave"}]
    (call,) = [b for b in chat.next().blocks if not isinstance(b, Text)]
    assert call.name == "search_documents"
    use = {"type": "tool_use", "id": "toolu_1", "name": call.name, "input": call.input}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [found]}
    chat.messages += [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    (citation,) = citations(chat.next().blocks)
    assert citation["type"] == "search_result_location"
    assert (citation["start_block_index"], citation["end_block_index"]) == (1, 2)
    assert (citation["search_result_index"], citation["cited_text"]) == (0, TEXT)


# --- images ---

VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 320, 200)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", 319 | 199 << 14)
VP8X = (
    b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (319).to_bytes(3, "little") + (199).to_bytes(3, "little")
)
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 200, 320) + bytes(6)
IMAGES = [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 320, 200), "PNG"),
    (b"GIF89a" + struct.pack("<HH", 320, 200), "GIF"),
    (JPEG, "JPEG"),
    (VP8, "WebP"),
    (VP8L, "WebP"),
    (VP8X, "WebP"),
]


@pytest.mark.parametrize(("raw", "kind"), IMAGES)
def test_an_image_is_measured_by_its_header(raw, kind):
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(raw).decode()}
    (said,) = asked({"type": "image", "source": source}, question="What is this?")
    assert f"a {kind} image of 320 × 200 pixels ({len(raw)} bytes)" in said.text
    assert "simulation" in said.text


@given(
    st.sampled_from([raw for raw, _ in IMAGES] + [b""]), st.binary(max_size=60), st.integers(0, 40)
)
def test_hostile_bytes_are_no_crash(raw, tail, cut):
    pictures.measured(raw[:cut] + tail)


def test_an_image_that_is_none_is_said_to_be_none():
    source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    (said,) = asked({"type": "image", "source": source}, question="What is this?")
    assert "without a header that I can read" in said.text


# --- the web ---


def searched(question, tools=(), **tool):
    web = {"type": "web_search_20250305", "name": "web_search", **tool}
    return Chat([web, *tools], messages=[{"role": "user", "content": question}]).next()


def results(reply):
    raw = [block.block for block in reply.blocks if isinstance(block, RawBlock)]
    return [block["content"] for block in raw if block["type"] == "web_search_tool_result"]


def test_a_search_has_its_query_its_results_and_a_cited_answer():
    reply = searched("Search the web for reverse charge VAT")
    call = next(block.block for block in reply.blocks if isinstance(block, RawBlock))
    assert (call["type"], call["input"]) == ("server_tool_use", {"query": "reverse charge VAT"})
    assert results(reply)[0][0]["url"] == "https://tax.example.com/vat/reverse-charge"
    first = citations(reply.blocks)[0]
    page = next(page for page in web.PAGES if page.url == first["url"])
    assert first["cited_text"] in page.text
    assert first["encrypted_index"]
    assert reply.usage.web_searches == 1
    assert reply.usage.final_input_tokens > 20


def test_searches_beyond_the_limit_are_refused():
    reply = searched("search the web for VAT and for Incoterms", max_uses=1)
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    assert isinstance(results(reply)[0], list)
    assert results(reply)[1] == error
    assert reply.usage.web_searches == 1
    assert "limit is used up" in reply.blocks[-1].text


@pytest.mark.parametrize(
    ("limits", "hosts"),
    [
        ({"allowed_domains": ["tax.example.com"]}, {"tax.example.com"}),
        ({"allowed_domains": ["example.com/vat"]}, {"tax.example.com"}),
        ({"allowed_domains": ["other.example"]}, set()),
        ({"blocked_domains": ["tax.example.com"]}, {"news.example.com"}),
    ],
)
def test_domains_are_obeyed(limits, hosts):
    found = {page.url.split("/")[2] for page in web.matching("VAT invoice tax", limits)}
    assert found & {"tax.example.com", "news.example.com"} == hosts


def test_the_web_is_only_searched_when_it_is_asked_for():
    assert results(searched("show me my tasks", TASK_TOOLS)) == []
    assert results(searched("hello")) == []
    assert results(searched("what is the latest news on e-invoicing?", TASK_TOOLS)) != []


def test_every_page_is_invented_and_says_something():
    assert len({page.url for page in web.PAGES}) == len(web.PAGES)
    assert all(page.url.split("/")[2].endswith(".example.com") for page in web.PAGES)
