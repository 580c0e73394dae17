use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::reflector::ObjectRef;
use kube::{Client, CustomResource, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::market::{Market, Refused, Row};

const FINALIZER: &str = "peer.gpurental.dev/machine";
const INTENT: &str = "peer.gpurental.dev/intent";
/// How long a rental whose reply was lost may take to be listed.
const NO_OUTCOME: Duration = Duration::from_secs(60);
const ATTEMPT_GAP: Duration = Duration::from_secs(5);

#[derive(Clone, CustomResource, Debug, Deserialize, Serialize)]
#[kube(
    group = "gpurental.dev",
    version = "v1alpha1",
    kind = "GpuInstance",
    namespaced,
    status = "GpuInstanceStatus",
    schema = "disabled"
)]
pub struct GpuInstanceSpec {
    #[serde(default)]
    pub offers: Vec<OfferRequest>,
    pub image: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferRequest {
    pub max_price_per_hour: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GpuInstanceStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    pub phase: String,
    pub attempt: i64,
    pub instance_id: String,
    pub offer_id: String,
    pub rented_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Value>,
    pub conditions: Vec<Condition>,
}

/// What is bought, written to the object before the money is spent.
#[derive(Deserialize, Serialize)]
struct Intent {
    attempt: i64,
    offer: i64,
    label: String,
    /// Seconds since the epoch.
    at: u64,
}

pub struct Context {
    pub client: Client,
    pub market: Market,
    pub recorder: Recorder,
    pub poll: Duration,
    /// Whose machine carries a label.
    pub objects: Mutex<HashMap<String, ObjectRef<GpuInstance>>>,
}

#[derive(Debug)]
pub struct Error(anyhow::Error);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Error {}

pub fn on_error(_: Arc<GpuInstance>, error: &Error, _: Arc<Context>) -> Action {
    eprintln!("{error}");
    Action::requeue(Duration::from_secs(1))
}

pub async fn reconcile(instance: Arc<GpuInstance>, context: Arc<Context>) -> Result<Action, Error> {
    context.reconcile(&instance).await.map_err(Error)
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Whether a list begun at that time shows a rental that was sent then, if it took place.
fn is_conclusive(begun: Option<SystemTime>, sent: u64) -> bool {
    begun.is_some_and(|begun| seconds(begun) >= sent + NO_OUTCOME.as_secs())
}

impl Context {
    fn api(&self, instance: &GpuInstance) -> Api<GpuInstance> {
        Api::namespaced(self.client.clone(), &instance.namespace().unwrap_or_default())
    }

    async fn reconcile(&self, instance: &GpuInstance) -> Result<Action> {
        let intent: Option<Intent> = match instance.annotations().get(INTENT) {
            Some(text) => Some(serde_json::from_str(text).context(INTENT)?),
            None => None,
        };
        if let Some(intent) = &intent {
            self.remember(&intent.label, instance);
        }
        let status = instance.status.clone().unwrap_or_default();
        match intent {
            intent if instance.metadata.deletion_timestamp.is_some() => {
                self.remove(instance, status, intent).await
            }
            None => self.rent(instance, 1).await,
            Some(intent) if status.instance_id.is_empty() || status.attempt != intent.attempt => {
                self.recover(instance, intent).await
            }
            Some(intent) => self.observe(instance, status, intent).await,
        }
    }

    fn remember(&self, label: &str, instance: &GpuInstance) {
        let mut objects = self.objects.lock().expect("no holder panics");
        objects.entry(label.to_owned()).or_insert_with(|| ObjectRef::from_obj(instance));
    }

    /// Writes the intent and the finalizer under the resource version, then spends.
    async fn rent(&self, instance: &GpuInstance, attempt: i64) -> Result<Action> {
        let price = instance.spec.offers.first().and_then(|offer| offer.max_price_per_hour.as_deref());
        let offer = self.market.take_offer(price.unwrap_or("0").parse()?).await?;
        let label = format!("peer:{}:{attempt}", instance.uid().unwrap_or_default());
        let intent = Intent { attempt, offer, label, at: seconds(SystemTime::now()) };
        let recorded = self
            .patch_metadata(instance, json!({
                "finalizers": [FINALIZER], "annotations": { INTENT: serde_json::to_string(&intent)? },
            }))
            .await?;
        self.remember(&intent.label, instance);
        match self.market.rent(offer, &intent.label, &instance.spec.image).await {
            Ok(id) => self.rented(&recorded, &intent, id).await,
            Err(error) if error.is::<Refused>() => {
                self.patch_metadata(&recorded, json!({ "annotations": { INTENT: null } })).await?;
                Ok(Action::requeue(ATTEMPT_GAP))
            }
            Err(error) => Err(error),
        }
    }

    async fn patch_metadata(&self, instance: &GpuInstance, mut metadata: Value) -> Result<GpuInstance> {
        metadata["resourceVersion"] = json!(instance.resource_version());
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        Ok(self.api(instance).patch(&instance.name_any(), &PatchParams::default(), &patch).await?)
    }

    async fn write_status(&self, instance: &GpuInstance, status: GpuInstanceStatus) -> Result<()> {
        let mut written = instance.clone();
        written.status = Some(status);
        let api = self.api(instance);
        api.replace_status(&instance.name_any(), &PostParams::default(), &written).await?;
        Ok(())
    }

    async fn rented(&self, instance: &GpuInstance, intent: &Intent, id: i64) -> Result<Action> {
        let mut status = GpuInstanceStatus {
            observed_generation: instance.metadata.generation,
            phase: "Provisioning".into(),
            attempt: intent.attempt,
            instance_id: id.to_string(),
            offer_id: intent.offer.to_string(),
            rented_at: now(),
            ..Default::default()
        };
        set_ready(&mut status, "False", "Provisioning", "The machine boots.");
        self.write_status(instance, status).await?;
        let event = Event {
            type_: EventType::Normal,
            reason: "Rented".into(),
            note: Some(format!("Rented machine {id}.")),
            action: "Rent".into(),
            secondary: None,
        };
        self.recorder.publish(&event, &instance.object_ref(&())).await?;
        Ok(Action::await_change())
    }

    /// Finds out what became of a rental whose reply or record was lost, by its label.
    async fn recover(&self, instance: &GpuInstance, intent: Intent) -> Result<Action> {
        match self.market.row(&intent.label) {
            (Some(row), _) => self.rented(instance, &intent, row.id).await,
            (None, begun) if is_conclusive(begun, intent.at) => {
                self.rent(instance, intent.attempt + 1).await
            }
            _ => Ok(Action::requeue(self.poll)),
        }
    }

    /// Writes what the list shows of the machine, if that is news.
    async fn observe(
        &self,
        instance: &GpuInstance,
        before: GpuInstanceStatus,
        intent: Intent,
    ) -> Result<Action> {
        let mut status = before.clone();
        match self.market.row(&intent.label) {
            (None, begun) if !is_conclusive(begun, intent.at) => return Ok(Action::await_change()),
            (None, _) => lost(&mut status, None),
            (Some(row), _) => match row.actual_status.as_deref() {
                Some("running") => {
                    if before.phase != "Running" {
                        self.write_secret(instance, &before, &row).await?;
                    }
                    running(&mut status, instance, &row);
                }
                Some("exited" | "unknown" | "offline") => lost(&mut status, row.actual_status.clone()),
                _ => {}
            },
        }
        if status != before {
            self.write_status(instance, status).await?;
        }
        Ok(Action::await_change())
    }

    async fn write_secret(
        &self,
        instance: &GpuInstance,
        status: &GpuInstanceStatus,
        row: &Row,
    ) -> Result<()> {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let (host, port) = ssh_of(row);
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(format!("{}-connection", instance.name_any())),
                namespace: instance.namespace(),
                owner_references: instance.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..Default::default()
            },
            type_: Some("servicebinding.io/gpu-instance".into()),
            data: Some(BTreeMap::from([
                ("type".into(), bytes("gpu-instance")),
                ("provider".into(), bytes("peer")),
                ("host".into(), bytes(host)),
                ("port".into(), bytes(&port.to_string())),
                ("username".into(), bytes("root")),
                ("instance-id".into(), bytes(&status.instance_id)),
            ])),
            ..Default::default()
        };
        let api: Api<Secret> =
            Api::namespaced(self.client.clone(), &instance.namespace().unwrap_or_default());
        match api.create(&PostParams::default(), &secret).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }

    /// Destroys the machine, then takes the finalizer away.
    async fn remove(
        &self,
        instance: &GpuInstance,
        status: GpuInstanceStatus,
        intent: Option<Intent>,
    ) -> Result<Action> {
        if !instance.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            return Ok(Action::await_change());
        }
        if let Some(intent) = intent {
            let (row, begun) = self.market.row(&intent.label);
            let id = row.map(|row| row.id).or_else(|| status.instance_id.parse().ok());
            match id {
                Some(id) => self.market.destroy(id).await?,
                None if !is_conclusive(begun, intent.at) => return Ok(Action::requeue(self.poll)),
                None => {}
            }
            self.objects.lock().expect("no holder panics").remove(&intent.label);
        }
        let others: Vec<_> =
            instance.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        match self.patch_metadata(instance, json!({ "finalizers": others })).await {
            Err(error) if is_not_found(&error) => Ok(Action::await_change()),
            other => other.map(|_| Action::await_change()),
        }
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 404)
}

fn ssh_of(row: &Row) -> (&str, i32) {
    (row.ssh_host.as_deref().unwrap_or_default(), row.ssh_port.unwrap_or_default())
}

fn running(status: &mut GpuInstanceStatus, instance: &GpuInstance, row: &Row) {
    let (host, port) = ssh_of(row);
    status.observed_generation = instance.metadata.generation;
    status.phase = "Running".into();
    status.actual_status = row.actual_status.clone();
    status.running_at.get_or_insert_with(now);
    status.public_address = row.public_ipaddr.clone();
    status.endpoint = Some(json!({ "address": format!("{host}:{port}") }));
    status.ssh = Some(json!({ "host": host, "port": port }));
    let count = row.num_gpus.unwrap_or_default() as i64;
    status.gpu = Some(json!({ "name": row.gpu_name, "count": count }));
    set_ready(status, "True", "Running", "The machine runs.");
}

fn lost(status: &mut GpuInstanceStatus, actual: Option<String>) {
    status.phase = "Lost".into();
    status.actual_status = actual;
    set_ready(status, "False", "Lost", "The machine does not answer.");
}

fn set_ready(status: &mut GpuInstanceStatus, value: &str, reason: &str, message: &str) {
    let since = status.conditions.iter().find(|condition| condition.status == value);
    let last_transition_time =
        since.map_or_else(|| Time(Timestamp::now()), |condition| condition.last_transition_time.clone());
    status.conditions = vec![Condition {
        type_: "Ready".into(),
        status: value.into(),
        reason: reason.into(),
        message: message.into(),
        observed_generation: status.observed_generation,
        last_transition_time,
    }];
}
