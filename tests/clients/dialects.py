"""The four APIs that the clients speak with a model: Anthropic Messages, OpenAI Responses and Chat, Gemini."""

import json
import re
from collections.abc import Iterable
from typing import Any

from tests.clients.stand_in_model import Answer, Json, OfferedTool, Request, Tools

Said = str | tuple[OfferedTool, Json]
STREAM = "text/event-stream"
_RESPONSE_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
_CHAT_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Messages:
    """Anthropic Messages: Claude Code."""

    counting: tuple[str, Json] | None = ("count_tokens", {"input_tokens": 10})

    def tools(self, body: Json) -> Tools:
        return {
            tool["name"]: OfferedTool({"name": tool["name"]}, tool.get("description", ""), _names(tool["input_schema"]))
            for tool in body.get("tools", [])
            if "input_schema" in tool
        }

    def answers(self, body: Json) -> list[Answer]:
        blocks = [
            block
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        results = [block for block in blocks if block["type"] == "tool_result"]
        return [Answer(_text(result["content"]), bool(result.get("is_error"))) for result in results]

    def reply(self, request: Request, said: Said) -> tuple[str, bytes]:
        block: Json
        start: Json  # the block before its first delta
        if isinstance(said, str):
            block, delta, reason = {"type": "text", "text": said}, {"type": "text_delta", "text": said}, "end_turn"
            start = block | {"text": ""}
        else:
            tool, arguments = said
            block = {"type": "tool_use", "id": f"toolu_{request.number}", **tool.address, "input": arguments}
            delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
            start = block | {"input": {}}
        message: Json = {
            "id": f"msg_{request.number}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model"),
        }
        message |= {"content": [block], "stop_reason": reason, "stop_sequence": None}
        message["usage"] = {"input_tokens": 1, "output_tokens": 1}
        if not request.body.get("stream"):
            return "application/json", json.dumps(message).encode()
        events: list[Json] = [
            {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        return STREAM, _events(events)


class Responses:
    """OpenAI Responses: Codex, which groups the tools of a server in a namespace."""

    counting: tuple[str, Json] | None = None

    def tools(self, body: Json) -> Tools:
        found = {}
        for tool in body.get("tools", []):
            inside = tool["tools"] if tool["type"] == "namespace" else [tool]
            space = {"namespace": tool["name"]} if tool["type"] == "namespace" else {}
            for one in inside:
                if one["type"] == "function":
                    address = space | {"name": one["name"]}
                    described = OfferedTool(address, one.get("description", ""), _names(one["parameters"]))
                    found["__".join(address.values())] = described
        return found

    def answers(self, body: Json) -> list[Answer]:
        outputs = [item["output"] for item in body["input"] if item["type"] == "function_call_output"]
        return [Answer(re.sub(r"\AWall time: [\d.]+ seconds\nOutput:\n", "", _text(output))) for output in outputs]

    def reply(self, request: Request, said: Said) -> tuple[str, bytes]:
        item: Json
        if isinstance(said, str):
            content = [{"type": "output_text", "text": said, "annotations": []}]
            item = {"type": "message", "id": f"m_{request.number}", "role": "assistant", "content": content}
        else:
            tool, arguments = said
            item = {
                "type": "function_call",
                "id": f"fc_{request.number}",
                "call_id": f"call_{request.number}",
                **tool.address,
            }
            item["arguments"] = json.dumps(arguments)
        item["status"] = "completed"
        response: Json = {
            "id": f"resp_{request.number}",
            "object": "response",
            "model": "stand-in",
            "usage": _RESPONSE_USAGE,
        }
        events: list[Json] = [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"status": "completed", "output": [item]}},
        ]
        return STREAM, _events(events)


class Chat:
    """OpenAI chat completions: opencode, and most local model servers."""

    counting: tuple[str, Json] | None = None

    def tools(self, body: Json) -> Tools:
        functions = [tool["function"] for tool in body.get("tools", [])]
        return {
            one["name"]: OfferedTool({"name": one["name"]}, one.get("description", ""), _names(one["parameters"]))
            for one in functions
        }

    def answers(self, body: Json) -> list[Answer]:
        return [Answer(_text(message["content"])) for message in body["messages"] if message["role"] == "tool"]

    def reply(self, request: Request, said: Said) -> tuple[str, bytes]:
        delta: Json = {"role": "assistant"}
        if isinstance(said, str):
            delta["content"], reason = said, "stop"
        else:
            function = {**said[0].address, "arguments": json.dumps(said[1])}
            delta["tool_calls"] = [
                {"index": 0, "id": f"call_{request.number}", "type": "function", "function": function}
            ]
            reason = "tool_calls"
        base = {"id": f"chat_{request.number}", "created": 1, "model": "stand-in"}
        if not request.body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": reason}
            whole = base | {"object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE}
            return "application/json", json.dumps(whole).encode()
        base["object"] = "chat.completion.chunk"
        choices = [
            {"index": 0, "delta": delta, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        chunks = [base | {"choices": [choice], "usage": _CHAT_USAGE} for choice in choices]
        return STREAM, _events(chunks, named=False) + b"data: [DONE]\n\n"


class Gemini:
    """Gemini: Gemini CLI, which marks what a tool answered as untrusted."""

    counting: tuple[str, Json] | None = ("countTokens", {"totalTokens": 10})

    def tools(self, body: Json) -> Tools:
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return {
            one["name"]: OfferedTool(
                {"name": one["name"]},
                one.get("description", ""),
                _names(one.get("parametersJsonSchema") or one.get("parameters") or {}),
            )
            for one in declared
        }

    def answers(self, body: Json) -> list[Answer]:
        parts = [part for content in body["contents"] for part in content["parts"]]
        answers = []
        for part in parts:
            if "functionResponse" in part:
                response = part["functionResponse"]["response"]
                text = response.get("output") or response.get("error") or json.dumps(response)
                answers.append(Answer(_trusted(text), "error" in response))
        return answers

    def reply(self, request: Request, said: Said) -> tuple[str, bytes]:
        part = {"text": said} if isinstance(said, str) else {"functionCall": {**said[0].address, "args": said[1]}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"}
        if "alt=sse" in request.path:
            return STREAM, _events([whole], named=False)
        return "application/json", json.dumps(whole).encode()


def _names(schema: Json) -> frozenset[str]:
    return frozenset(schema.get("properties", {}))


def _text(content: Any) -> str:
    """The text of a string or of a list of text blocks."""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _trusted(text: str) -> str:
    inside = re.fullmatch(r"\s*<untrusted_context>\s*(.*?)\s*</untrusted_context>\s*", text, re.DOTALL)
    return inside[1] if inside else text


def _events(events: Iterable[Json], *, named: bool = True) -> bytes:
    return b"".join(
        (f"event: {event['type']}\n" if named else "").encode() + f"data: {json.dumps(event)}\n\n".encode()
        for event in events
    )
