"""Imports the service and its libraries, for the process from which tests.fakes.forked forks."""

# ruff: noqa: F401
import gc

import aiohttp
import aws_lambda_powertools.logging
import aws_lambda_powertools.metrics
import boto3
import prompt_toolkit.shortcuts
import rich.markdown
import uvicorn.lifespan.on
import uvicorn.loops.uvloop
import uvicorn.protocols.http.h11_impl
import uvicorn.protocols.http.httptools_impl

import kefu.bootstrap.service
import kefu.bootstrap.sessions
import kefu.cli.admin_link
import kefu.cli.chat
import kefu.cli.serve
import kefu.settings.all
import kefu.stores.guarded.sessions
import kefu.stores.sql.sessions
import kefu.stores.sqlite.memory
import kefu.stores.sqlite.store
import kefu.terminal.pipes
import kefu.upstream.aiohttp_transport
import kefu.web.routes.contact
import kefu.web.routes.openai
import kefu.web.routes.sessions
import kefu.web.session_chat
from kefu.cli.parser import parser
from tests.fakes.migrated import copy_migrated

parser()  # which imports the parts of the command line
kefu.settings.all.Settings.model_validate({})  # which builds pydantic's validators
copy_migrated()
# The first collection of a forked process would copy all pages of memory that have objects.
gc.freeze()
