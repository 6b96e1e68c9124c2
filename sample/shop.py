"""The orders of the sample shop, as functions that a model can call. They live in memory."""

from __future__ import annotations

from kefu.tools.tool import Visitor

Order = dict[str, object]

ORDERS: dict[str, Order] = {
    "1001": {"state": "packed", "items": 2, "total": "89.00 EUR", "delivery": "in 3 days"},
    "1002": {"state": "on its way", "items": 1, "total": "45.00 EUR", "delivery": "tomorrow"},
}
CHINESE = {
    "packed": "已打包",
    "on its way": "运输中",
    "cancelled": "已取消",
    "in 3 days": "三天后",
    "tomorrow": "明天",
}


def order_status(order_id: str, visit: Visitor) -> Order | str:
    """State, items, total and delivery of an order, and whether it can be cancelled.

    order_id: the number of the order, such as 1001.
    """
    if not (order := ORDERS.get(order_id)):
        return _unknown(visit)
    shown = {"order_id": order_id, **order, "can_be_cancelled": order["state"] == "packed"}
    return _in_language(shown, visit)


def cancel_order(order_id: str, visit: Visitor) -> Order | str:
    """Cancel an order that was not sent yet.

    order_id: the number of the order, such as 1001.
    """
    if not (order := ORDERS.get(order_id)):
        return _unknown(visit)
    if order["state"] == "packed":
        order.pop("delivery")
        order["state"] = "cancelled"
    return _in_language({"order_id": order_id, **order}, visit)


def _unknown(visit: Visitor) -> str:
    return "没有这个订单。" if _is_chinese(visit) else "There is no such order."


def _in_language(order: Order, visit: Visitor) -> Order:
    if not _is_chinese(visit):
        return order
    return {name: CHINESE.get(str(value), value) for name, value in order.items()}


def _is_chinese(visit: Visitor) -> bool:
    return visit.language.lower().startswith("zh")
