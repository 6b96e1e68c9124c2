"""`kefu.lambda_handler.handler`: the same application, answering whole, for `sam local` and
HTTP APIs. REST (v1), HTTP (v2) and Function URL events; streaming goes through the Web Adapter.
"""

from mangum import Mangum

from kefu.asgi import app

handler = Mangum(app)
