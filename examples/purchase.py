"""Buys what somebody asks for, once a person has said what it may cost and has agreed to the order.

Run it with `planwerk serve examples/purchase.py`; it waits for answers for days, in storage and not in memory.
"""

from planwerk import Agent, HumanInTheLoop, StartEvent, StopEvent, Timer, step

DAY_SECONDS = 86_400


class PurchaseStart(StartEvent):
    item: str


class PurchaseEnded(StopEvent):
    text: str


class AskBudget(HumanInTheLoop.Input):
    """What may be spent."""


class AskOrder(HumanInTheLoop.Confirmation):
    """Whether to order it at this price."""


class DeliveryDue(Timer):
    """The time a delivery takes."""


class Purchase(Agent):
    """Asks for a budget and for a yes, then waits for the delivery."""

    @step()
    async def ask_budget(self, start: PurchaseStart) -> AskBudget:
        choices = ("100", "500", "1000")
        return AskBudget(question=f"What may {start.item} cost?", choices=choices, timeout_seconds=7 * DAY_SECONDS)

    @step()
    async def ask_order(self, start: PurchaseStart, budget: AskBudget.Answered) -> AskOrder:
        return AskOrder(question="Order it?", subject=f"{start.item}, for at most {budget.text}", timeout_seconds=3600)

    @step()
    async def order(self, decision: AskOrder.Answered) -> DeliveryDue | PurchaseEnded:
        if decision.confirmed:
            return DeliveryDue(seconds=2 * DAY_SECONDS)
        return PurchaseEnded(text=f"Not ordered: {decision.reason or 'no reason given'}.")

    @step()
    async def arrive(self, due: DeliveryDue.Fired) -> PurchaseEnded:
        return PurchaseEnded(text="It is here.")

    @step()
    async def give_up(self, late: AskBudget.TimedOut | AskOrder.TimedOut) -> PurchaseEnded:
        return PurchaseEnded(text="Nobody answered in time.")
