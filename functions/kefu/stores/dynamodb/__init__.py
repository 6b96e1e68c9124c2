"""Stores in one DynamoDB table, which all instances on AWS share."""
