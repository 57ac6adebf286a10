# SPDX-License-Identifier: MIT
"""What schemathesis cannot know of our API: how a module is sent."""

import schemathesis


@schemathesis.serializer("application/wasm")
def module(context, value):
    return {"data": value if isinstance(value, bytes) else str(value).encode()}
