"""A peer of the operator for its benchmark: the same job, as a team that knows kopf would write it.

The marketplace's key comes from MARKETPLACE_API_KEY, the API server from KUBECONFIG.
"""

import argparse
import asyncio
import base64
import datetime
import json
import logging
import os
import time
from typing import Any

import kopf
from kubernetes_asyncio import client, config
from market import Market, Refused

GROUP, VERSION, PLURAL = "gpurental.dev", "v1alpha1", "gpuinstances"
INTENT = "peer.gpurental.dev/intent"
NO_OUTCOME = 60.0  # seconds that a rental whose reply was lost may take to be listed
ATTEMPT_GAP = 5.0
WRITES_AT_ONCE = 32

parser = argparse.ArgumentParser()
parser.add_argument("--marketplace-url", required=True)
parser.add_argument("--namespace", required=True)
parser.add_argument("--poll-seconds", type=float, default=10)
parser.add_argument("--paced", action="store_true")
flags = parser.parse_args()


class Machines:
    """The instances of this process by the label of their machine."""

    market: Market
    objects: client.CustomObjectsApi
    core: client.CoreV1Api
    polling: asyncio.Task[None]
    bodies: dict[str, dict[str, Any]] = {}


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
    # The status of the CRD is structural, so progress cannot be kept there.
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="peer.gpurental.dev")
    settings.persistence.finalizer = "peer.gpurental.dev/machine"
    settings.posting.level = logging.ERROR
    await config.load_kube_config()
    api = client.ApiClient()
    api.configuration.connection_pool_maxsize = WRITES_AT_ONCE
    Machines.objects = client.CustomObjectsApi(api)
    Machines.core = client.CoreV1Api(api)
    Machines.market = Market(flags.marketplace_url, os.environ["MARKETPLACE_API_KEY"], flags.paced)
    Machines.polling = asyncio.create_task(poll())


@kopf.on.cleanup()
async def stop(**_: Any) -> None:
    Machines.polling.cancel()
    await Machines.market.session.close()
    await Machines.objects.api_client.close()


@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.resume(GROUP, VERSION, PLURAL)
async def ensure(body: kopf.Body, **_: Any) -> None:
    instance: dict[str, Any] = json.loads(json.dumps(dict(body)))
    intent = intent_of(instance)
    status = instance.get("status", {})
    if intent is None:
        await rent(instance, 1)
    elif status.get("attempt") == intent["attempt"] and status.get("instanceId"):
        Machines.bodies[intent["label"]] = instance
        await observe(intent["label"])
    else:
        await recover(instance, intent)


def intent_of(instance: dict[str, Any]) -> dict[str, Any] | None:
    text = instance["metadata"].get("annotations", {}).get(INTENT)
    return None if text is None else json.loads(text)


def is_conclusive(sent: float) -> bool:
    """Whether the last list shows a rental that was sent then, if it took place."""
    return Machines.market.list_begun >= sent + NO_OUTCOME


async def patch(instance: dict[str, Any], change: dict[str, Any], of_status: bool = False) -> dict[str, Any]:
    objects, metadata = Machines.objects, instance["metadata"]
    name = "patch_namespaced_custom_object_status" if of_status else "patch_namespaced_custom_object"
    return await getattr(objects, name)(
        GROUP, VERSION, metadata["namespace"], PLURAL, metadata["name"], change,
        _content_type="application/merge-patch+json",
    )


async def rent(instance: dict[str, Any], attempt: int) -> None:
    """Writes the intent under the resource version, then spends. Kopf has added its finalizer before."""
    market, metadata = Machines.market, instance["metadata"]
    offer = await market.take_offer(float(instance["spec"]["offers"][0]["maxPricePerHour"]))
    label = f"peer:{metadata['uid']}:{attempt}"
    intent = {"attempt": attempt, "offer": offer, "label": label, "at": time.time()}
    recorded = await write_intent(instance, json.dumps(intent))
    try:
        machine = await market.rent(offer, label, instance["spec"]["image"])
    except Refused as refused:
        await write_intent(recorded, None)
        raise kopf.TemporaryError(str(refused), delay=ATTEMPT_GAP)
    await rented(recorded, intent, machine)


async def write_intent(instance: dict[str, Any], text: str | None) -> dict[str, Any]:
    version = instance["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version, "annotations": {INTENT: text}}}
    try:
        return await patch(instance, change)
    except client.ApiException as error:
        if error.status != 409:
            raise
        raise kopf.TemporaryError("the object has changed", delay=0.1)


async def rented(instance: dict[str, Any], intent: dict[str, Any], machine: int) -> None:
    status = {
        "observedGeneration": instance["metadata"]["generation"],
        "phase": "Provisioning",
        "attempt": intent["attempt"],
        "instanceId": str(machine),
        "offerId": str(intent["offer"]),
        "rentedAt": now(),
        "conditions": [ready("False", "Provisioning", "The machine boots.")],
    }
    Machines.bodies[intent["label"]] = await patch(instance, {"status": status}, of_status=True)
    kopf.event(instance, type="Normal", reason="Rented", message=f"Rented machine {machine}.")


async def recover(instance: dict[str, Any], intent: dict[str, Any]) -> None:
    """Finds out what became of a rental whose reply or record was lost, by its label."""
    row = Machines.market.by_label.get(intent["label"])
    if row is not None:
        await rented(instance, intent, row["id"])
    elif is_conclusive(intent["at"]):
        await rent(instance, intent["attempt"] + 1)
    else:
        raise kopf.TemporaryError("the outcome of the rental is unknown", delay=flags.poll_seconds)


async def poll() -> None:
    """Lists all machines once per interval, and writes the status of those that changed."""
    limit = asyncio.Semaphore(WRITES_AT_ONCE)

    async def write(label: str) -> None:
        async with limit:
            try:
                await observe(label)
            except Exception:
                logging.exception("the status of %s was not written", label)

    while True:
        try:
            changed = await Machines.market.poll()
            await asyncio.gather(*(write(label) for label in changed if label in Machines.bodies))
        except Exception:
            logging.exception("the list failed")
        await asyncio.sleep(flags.poll_seconds)


async def observe(label: str) -> None:
    """Writes what the list shows of a machine, if that is news."""
    instance, row = Machines.bodies[label], Machines.market.by_label.get(label)
    status = instance["status"]
    if row is None:
        intent = intent_of(instance)
        if intent is None or not is_conclusive(intent["at"]):
            return
        change = lost(None)
    elif row["actual_status"] == "running":
        if status["phase"] != "Running":
            await write_secret(instance, row)
        change = running(row, status)
    elif row["actual_status"] in ("exited", "unknown", "offline"):
        change = lost(row["actual_status"])
    else:
        return
    if any(status.get(name) != value for name, value in change.items() if name != "conditions"):
        Machines.bodies[label] = await patch(instance, {"status": change}, of_status=True)


def running(row: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return {
        "phase": "Running",
        "actualStatus": row["actual_status"],
        "runningAt": before.get("runningAt") or now(),
        "publicAddress": row["public_ipaddr"],
        "endpoint": {"address": f"{row['ssh_host']}:{row['ssh_port']}"},
        "ssh": {"host": row["ssh_host"], "port": row["ssh_port"]},
        "gpu": {"name": row["gpu_name"], "count": int(row["num_gpus"])},
        "conditions": [ready("True", "Running", "The machine runs.")],
    }


def lost(actual: str | None) -> dict[str, Any]:
    return {
        "phase": "Lost",
        "actualStatus": actual,
        "conditions": [ready("False", "Lost", "The machine does not answer.")],
    }


async def write_secret(instance: dict[str, Any], row: dict[str, Any]) -> None:
    metadata = instance["metadata"]
    values = {
        "type": "gpu-instance",
        "provider": "peer",
        "host": row["ssh_host"],
        "port": str(row["ssh_port"]),
        "username": "root",
        "instance-id": instance["status"]["instanceId"],
    }
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "servicebinding.io/gpu-instance",
        "metadata": {"name": f"{metadata['name']}-connection", "namespace": metadata["namespace"]},
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in values.items()},
    }
    kopf.append_owner_reference(secret, owner=instance)
    try:
        await Machines.core.create_namespaced_secret(metadata["namespace"], secret)
    except client.ApiException as error:
        if error.status != 409:
            raise


@kopf.on.delete(GROUP, VERSION, PLURAL)
async def remove(body: kopf.Body, **_: Any) -> None:
    """Destroys the machine; kopf takes its finalizer away after that."""
    intent = intent_of(dict(body))
    if intent is None:
        return
    row = Machines.market.by_label.get(intent["label"])
    machine = row["id"] if row else body.get("status", {}).get("instanceId")
    if machine is None and not is_conclusive(intent["at"]):
        raise kopf.TemporaryError("the outcome of the rental is unknown", delay=flags.poll_seconds)
    if machine is not None:
        await Machines.market.destroy(int(machine))
    Machines.bodies.pop(intent["label"], None)


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ready(status: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now(),
    }


kopf.run(standalone=True, namespaces=[flags.namespace])
