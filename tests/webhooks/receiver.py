"""A receiver of webhooks as a process of its own: it appends what it gets to a file."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

port, file = int(sys.argv[1]), sys.argv[2]


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        with open(file, "a") as out:
            out.write(json.dumps({"headers": dict(self.headers), "body": body}) + "\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", port), Receiver).serve_forever()
