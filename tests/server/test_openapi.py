"""The REST surface as it describes itself: clients are generated from it, so names in it do not change (S2.6)."""

from __future__ import annotations

from typing import Any

import pytest

from planwerk.server.openapi import document

OPERATIONS = {
    "add_organization_memory",
    "answer_again",
    "answer_request",
    "change_account",
    "change_collection",
    "change_memory",
    "change_profile",
    "change_session",
    "create_account",
    "create_collection",
    "create_key",
    "create_profile",
    "create_thread",
    "delete_collection",
    "delete_document",
    "delete_memories",
    "delete_memory",
    "delete_organization_memory",
    "dismiss_schedule_failure",
    "export_memories",
    "fork_run",
    "health_live",
    "health_ready",
    "list_accounts",
    "list_answered",
    "list_blueprints",
    "list_collections",
    "list_documents",
    "list_keys",
    "list_memories",
    "list_namespaces",
    "list_organization_memories",
    "list_profiles",
    "list_requests",
    "list_runs",
    "list_schedule_failures",
    "list_schedules",
    "list_threads",
    "list_workspaces",
    "post_message",
    "read_account",
    "read_collection",
    "read_document",
    "read_graph",
    "read_inbox",
    "read_log",
    "read_original",
    "read_profile",
    "read_prompt",
    "read_request",
    "read_run",
    "read_run_test",
    "read_schedule",
    "read_server",
    "read_session",
    "read_source",
    "read_thread",
    "read_timeline",
    "rename_thread",
    "replay_run",
    "retry_document",
    "revoke_key",
    "run_schedule",
    "search_knowledge",
    "send_command",
    "set_password",
    "sign_in",
    "sign_out",
    "start_run",
    "stop_run",
    "stream_run",
    "stream_workspace",
    "upload_documents",
    "v1_chat_completions",
    "v1_model",
    "v1_models",
}


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return document()


def operations(described: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(path, operation) for path, methods in described["paths"].items() for operation in methods.values()]


def test_it_is_openapi_3_1_with_the_operations_clients_know(described: dict[str, Any]) -> None:
    found = [operation["operationId"] for _, operation in operations(described)]

    assert described["openapi"] == "3.1.0"
    assert sorted(found) == sorted(OPERATIONS)


def test_every_error_is_a_problem_and_on_v1_what_its_clients_know(described: dict[str, Any]) -> None:
    for path, operation in operations(described):
        content = operation["responses"]["default"]["content"]
        assert list(content) == ["application/json" if path.startswith("/v1/") else "application/problem+json"], path
        assert "422" not in operation["responses"]
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_what_is_public_says_so_and_the_rest_names_both_ways_in(described: dict[str, Any]) -> None:
    public = {operation["operationId"] for _, operation in operations(described) if not operation["security"]}

    assert public == {"health_live", "health_ready", "read_server", "sign_in", "sign_out"}
    assert set(described["components"]["securitySchemes"]) == {"apiKey", "session"}


def test_every_answer_with_a_body_has_a_schema(described: dict[str, Any]) -> None:
    for path, operation in operations(described):
        if path.startswith("/v1/"):
            continue
        for status, response in operation["responses"].items():
            if status in {"204", "default"}:
                continue
            media, content = next(iter(response["content"].items()))
            assert content.get("schema") or media in {"text/event-stream", "application/octet-stream"}, (path, status)
