"""Open a file in a language server and print what it publishes: lsp_open.py SERVER FILE"""

import json
import subprocess
import sys

server, path = sys.argv[1:]
text = open(path).read()


def message(**fields):
    body = json.dumps({"jsonrpc": "2.0", **fields})
    return f"Content-Length: {len(body.encode())}\r\n\r\n{body}"


document = {"uri": "test:///test.mlir", "languageId": "mlir", "version": 1, "text": text}
messages = (
    message(id=0, method="initialize", params={"processId": 1, "rootPath": None, "capabilities": {}, "trace": "off"})
    + message(method="textDocument/didOpen", params={"textDocument": document})
    + message(id=1, method="shutdown", params=None)
    + message(method="exit", params=None)
)
done = subprocess.run([server], input=messages.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
print(done.stdout.decode())
