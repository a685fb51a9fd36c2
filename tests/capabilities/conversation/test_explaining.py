"""A question about the assistant is answered from its own description (C1.1)."""

from __future__ import annotations

from tests.capabilities.conversation.conversing import PlayedModel, Surroundings, answered, message

from planwerk.capabilities.conversation.about import workflow_summary
from planwerk.capabilities.conversation.events import MetaQuestionAskedEvent
from planwerk.capabilities.conversation.gate import GateLabel
from planwerk.messages.events import FollowUpsSuggestedEvent, LLMEvent, LLMStopEvent, RefusalReason, RefusalStopEvent
from planwerk.runtime.run_info import RunInfo
from planwerk.workflow.graph import Edge, Graph, Group, Node
from planwerk.workflow.locale_string import LocaleString

GRAPH = Graph(
    nodes=(
        Node("start:UserMessageEvent", "UserMessageEvent", LocaleString("Question"), "start"),
        Node("begin", "begin", LocaleString(en="Begin", de="Beginnen"), "step"),
        Node("answer", "answer", LocaleString(en="Answer", de="Antworten"), "step"),
        Node("Memory.search", "search", LocaleString(en="Remember", de="Erinnern"), "step", group="Memory"),
        Node("stop:LLMStopEvent", "LLMStopEvent", LocaleString(en="Answered", de="Beantwortet"), "stop"),
    ),
    groups=(Group("Memory", "Memory"), Group("Unused", "Unused")),
    edges=(Edge("begin", "answer", "SomeEvent"),),
)
INFO = RunInfo(run="run", name="Helpdesk", description="Helps with plans.", graph=GRAPH)


async def explain(around: Surroundings, *words: str) -> LLMEvent | RefusalStopEvent:
    asked = MetaQuestionAskedEvent(history=message(*words).messages, kind=GateLabel.ABILITIES)
    return await around.steps.explain(asked, around.config, around.model.answering, around.locale, around.info)


async def test_the_answer_is_made_from_name_description_and_workflow() -> None:
    around = Surroundings(PlayedModel(answer="I help with plans."), info=INFO, system_prompt="Secret rules.")

    answer = await explain(around, "What can you do?")

    assert isinstance(answer, LLMEvent)
    assert answer.text == "I help with plans."
    system, prompts = around.model.asked("answer")
    assert "Name: Helpdesk\nDescription: Helps with plans." in system
    assert "- Begin → Answer\n- Memory: Remember\n- → Answered" in system
    assert "Secret rules." not in system
    assert prompts == ["What can you do?"]


async def test_braces_in_a_description_are_left_alone() -> None:
    info = RunInfo(run="run", name="{{description}}", description="{{name}}")
    around = Surroundings(info=info)

    await explain(around, "Who are you?")

    assert "Name: {{description}}\nDescription: {{name}}" in around.model.asked("answer")[0]


def test_the_workflow_is_told_in_the_locale_of_the_run() -> None:
    assert workflow_summary(GRAPH, "de") == "- Beginnen → Antworten\n- Memory: Erinnern\n- → Beantwortet"


async def test_a_question_that_does_not_fit_is_refused() -> None:
    refusal = await explain(Surroundings(number_of_input_tokens=50), "Who are you?")

    assert isinstance(refusal, RefusalStopEvent)
    assert refusal.reason is RefusalReason.INPUT_TOO_LARGE


async def test_the_run_ends_with_the_answer_and_follow_ups() -> None:
    around = Surroundings(PlayedModel(follow_ups="How do you work?"))
    answer = answered("I help with plans.")

    stop = await around.steps.conclude(
        answer, around.model.predicting, around.locale, around.shown, message("What can you do?")
    )

    assert stop == LLMStopEvent(answer=answer)
    assert around.shown.events == [FollowUpsSuggestedEvent(questions=("How do you work?",))]
