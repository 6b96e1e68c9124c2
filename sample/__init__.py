"""What `make run` shows before there is a `kefu.toml`: a small shop whose orders a chat can use."""
