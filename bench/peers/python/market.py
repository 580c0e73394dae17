"""The client of the marketplace, its copy of the last list, and the offers that nobody has taken yet."""

import asyncio
import time
from typing import Any

import aiohttp

# The least pause between two calls of one endpoint, as it is documented.
DOCUMENTED = {"list": 1.0, "search": 6.0, "rent": 4.5, "destroy": 3.0}
RESERVED_FOR = 60.0
COLUMNS = ("id", "label", "actual_status", "ssh_host", "ssh_port", "public_ipaddr", "gpu_name", "num_gpus")


class Refused(Exception):
    """The marketplace declined: the call had no effect."""

    def __init__(self, status: int):
        super().__init__(f"the marketplace answered {status}")
        self.status = status


class Market:
    def __init__(self, url: str, key: str, paced: bool):
        self.session = aiohttp.ClientSession(
            url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=aiohttp.ClientTimeout(total=30),
        )
        self.paced = paced
        self.next_call: dict[str, float] = {}
        self.by_label: dict[str, dict[str, Any]] = {}
        self.list_begun = 0.0
        self.searching = asyncio.Lock()
        self.free: list[int] = []
        self.taken: dict[int, float] = {}

    async def call(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        if self.paced:
            at = max(time.monotonic(), self.next_call.get(kind, 0.0))
            self.next_call[kind] = at + DOCUMENTED[kind]
            await asyncio.sleep(at - time.monotonic())
        async with self.session.request(method, path, json=body) as response:
            if 400 <= response.status < 500:
                raise Refused(response.status)
            response.raise_for_status()
            return await response.json()

    async def poll(self) -> list[str]:
        """Lists all machines once; returns the labels of those whose row changed, appeared or went."""
        begun = time.time()
        reply = await self.call("list", "GET", "/api/v0/instances/")
        if reply["instances_found"] != len(reply["instances"]):
            raise RuntimeError("the list is not complete")
        rows = ({name: row[name] for name in COLUMNS} for row in reply["instances"])
        by_label = {row["label"]: row for row in rows}
        before, self.by_label, self.list_begun = self.by_label, by_label, begun
        changed = [label for label, row in by_label.items() if before.get(label) != row]
        return changed + [label for label in before if label not in by_label]

    async def take_offer(self, max_price: float) -> int:
        """Reserves the cheapest offer that no other object took; one search serves many objects."""
        async with self.searching:
            if not self.free:
                await self.search(max_price)
            if not self.free:
                raise RuntimeError("no offer matches")
            offer = self.free.pop(0)
            self.taken[offer] = time.monotonic()
            return offer

    async def search(self, max_price: float) -> None:
        filters = {
            "rentable": {"eq": True},
            "dph_total": {"lte": max_price},
            "allocated_storage": 10,
            "order": [["dph_total", "asc"]],
            "limit": 500,
        }
        reply = await self.call("search", "POST", "/api/v0/bundles/", filters)
        now = time.monotonic()
        self.taken = {offer: at for offer, at in self.taken.items() if now - at < RESERVED_FOR}
        self.free = [offer["id"] for offer in reply["offers"] if offer["id"] not in self.taken]

    async def rent(self, offer: int, label: str, image: str) -> int:
        """Sent once and never repeated: after an error that is no refusal the outcome is unknown."""
        body = {"image": image, "disk": 10, "label": label, "runtype": "ssh"}
        reply = await self.call("rent", "PUT", f"/api/v0/asks/{offer}/", body)
        return reply["new_contract"]

    async def destroy(self, machine: int) -> None:
        try:
            await self.call("destroy", "DELETE", f"/api/v0/instances/{machine}/")
        except Refused as refused:
            if refused.status not in (404, 410):
                raise
