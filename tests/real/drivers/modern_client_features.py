"""The part of the modern conversation about the features of features.json."""

import json
from pathlib import Path

import anyio
import mcp.types as types
from mcp.client.extension import advertise

FEATURES = json.loads(Path(__file__).with_name("features.json").read_text())


def options(show):
    """The arguments of `Client` for the questions of these tools."""

    # How often somebody asks for the roots is not the tool's alone.
    async def roots(context):
        return types.ListRootsResult(roots=[types.Root.model_validate(root) for root in FEATURES["roots"]])

    async def sample(context, params):
        show("asked for sampling", params)
        answer = FEATURES["sampled"][1 if len(params.messages) > 1 else 0]
        return types.CreateMessageResultWithTools.model_validate(answer)

    async def elicit(context, params):
        if params.mode != "url":
            show("asked", params)
            return types.ElicitResult(action="accept", content={"sure": True})
        # Legacy servers choose an id, each time another one.
        asked = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        if "elicitationId" in asked:
            asked["elicitationId"] = "string"
        show("asked to open", asked)
        return types.ElicitResult(action="accept")

    return {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
        "list_roots_callback": roots,
        "extensions": [advertise(name, settings) for name, settings in FEATURES["extensions"].items()],
    }


async def hold_features(client, call, show, attempt, is_legacy, updated, is_stateless):
    """Holds the conversation. `updated` is a stream of what a server tells a legacy client about resources."""
    show("rich", await call("rich", {}))
    await attempt("sequence", call("sequence", {}))
    seen = json.loads((await call("seen", {}, meta=FEATURES["sent"])).content[0].text)
    show("spoken", seen.pop("spoken", None))
    show("seen", seen)
    if not is_stateless:
        await attempt("sample", call("sample", {}))
        await attempt("where", call("where", {}))
        await attempt("login", call("login", {}))
    show("read blob", await client.read_resource(FEATURES["blob"]["uri"]))
    if is_stateless:
        return

    uri = FEATURES["counter"]

    async def bump_and_read(news):
        # A subscription through us may be acknowledged before its server knows of it.
        told = None
        while told is None:
            await call("bump", {"to": 7})
            with anyio.move_on_after(0.2):
                told = await news()
        show("updated", str(told.uri))
        show("read counter", await client.read_resource(uri))

    if is_legacy:
        await client.session.subscribe_resource(uri)
        show("watches", None)
        await bump_and_read(updated.receive)
        await client.session.unsubscribe_resource(uri)
    else:
        async with client.listen(resource_subscriptions=[uri]) as watching:
            show("watches", watching.honored)
            await bump_and_read(watching.__anext__)
    await call("bump", {"to": 0})
