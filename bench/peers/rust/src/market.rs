use std::collections::{HashMap, VecDeque};
use std::sync::RwLock;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use reqwest::{Client, Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A machine as the marketplace lists it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Row {
    pub id: i64,
    pub label: Option<String>,
    pub actual_status: Option<String>,
    pub ssh_host: Option<String>,
    pub ssh_port: Option<i32>,
    pub public_ipaddr: Option<String>,
    pub gpu_name: Option<String>,
    pub num_gpus: Option<f64>,
}

/// The marketplace declined: the call had no effect.
#[derive(Debug)]
pub struct Refused(pub StatusCode);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the marketplace answered {}", self.0)
    }
}

impl std::error::Error for Refused {}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub enum Call {
    List,
    Search,
    Rent,
    Destroy,
}

/// The least pause between two calls of one endpoint, as it is documented.
fn documented(call: Call) -> Duration {
    match call {
        Call::List => Duration::from_secs(1),
        Call::Search => Duration::from_secs(6),
        Call::Rent => Duration::from_millis(4500),
        Call::Destroy => Duration::from_secs(3),
    }
}

#[derive(Default)]
struct Listed {
    by_label: HashMap<String, Row>,
    begun: Option<SystemTime>,
}

#[derive(Default)]
struct Offers {
    free: VecDeque<i64>,
    taken: HashMap<i64, Instant>,
}

const RESERVED_FOR: Duration = Duration::from_secs(60);

/// The client of the marketplace, its copy of the last list, and the offers that nobody has taken yet.
pub struct Market {
    url: String,
    key: String,
    http: Client,
    paced: bool,
    next: Mutex<HashMap<Call, Instant>>,
    listed: RwLock<Listed>,
    offers: Mutex<Offers>,
}

#[derive(Deserialize)]
struct ListReply {
    instances_found: usize,
    instances: Vec<Row>,
}

#[derive(Deserialize)]
struct Offer {
    id: i64,
}

#[derive(Deserialize)]
struct SearchReply {
    offers: Vec<Offer>,
}

#[derive(Deserialize)]
struct RentReply {
    new_contract: i64,
}

impl Market {
    pub fn new(url: String, key: String, paced: bool) -> Result<Self> {
        let http = Client::builder().timeout(Duration::from_secs(30)).build()?;
        let (next, listed, offers) = Default::default();
        Ok(Self { url, key, http, paced, next, listed, offers })
    }

    async fn wait_for_turn(&self, call: Call) {
        if !self.paced {
            return;
        }
        let at = {
            let mut next = self.next.lock().await;
            let at = next.get(&call).copied().unwrap_or_else(Instant::now).max(Instant::now());
            next.insert(call, at + documented(call));
            at
        };
        tokio::time::sleep_until(at.into()).await;
    }

    async fn call<Reply: DeserializeOwned>(
        &self,
        call: Call,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Reply> {
        self.wait_for_turn(call).await;
        let mut request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        if response.status().is_client_error() {
            bail!(Refused(response.status()));
        }
        Ok(response.error_for_status()?.json().await?)
    }

    /// Lists all machines once; returns the labels of those whose row changed, appeared or went.
    pub async fn poll(&self) -> Result<Vec<String>> {
        let begun = SystemTime::now();
        let reply: ListReply =
            self.call(Call::List, Method::GET, "/api/v0/instances/", None::<&Value>).await?;
        if reply.instances_found != reply.instances.len() {
            bail!("the list has {} rows of {}", reply.instances.len(), reply.instances_found);
        }
        let by_label: HashMap<_, _> = reply
            .instances
            .into_iter()
            .map(|row| (row.label.clone().unwrap_or_default(), row))
            .collect();
        let mut listed = self.listed.write().expect("no holder panics");
        let changed = by_label
            .iter()
            .filter(|(label, row)| listed.by_label.get(*label) != Some(row))
            .map(|(label, _)| label.clone())
            .chain(listed.by_label.keys().filter(|label| !by_label.contains_key(*label)).cloned())
            .collect();
        *listed = Listed { by_label, begun: Some(begun) };
        Ok(changed)
    }

    /// The machine of that label in the last list, and when that was begun.
    pub fn row(&self, label: &str) -> (Option<Row>, Option<SystemTime>) {
        let listed = self.listed.read().expect("no holder panics");
        (listed.by_label.get(label).cloned(), listed.begun)
    }

    /// Reserves the cheapest offer that no other object took; one search serves many objects.
    pub async fn take_offer(&self, max_price: f64) -> Result<i64> {
        let mut offers = self.offers.lock().await;
        if offers.free.is_empty() {
            let filters = json!({
                "rentable": {"eq": true}, "dph_total": {"lte": max_price}, "allocated_storage": 10,
                "order": [["dph_total", "asc"]], "limit": 500,
            });
            let reply: SearchReply =
                self.call(Call::Search, Method::POST, "/api/v0/bundles/", Some(&filters)).await?;
            offers.taken.retain(|_, at| at.elapsed() < RESERVED_FOR);
            let free = reply.offers.iter().map(|offer| offer.id);
            offers.free = free.filter(|id| !offers.taken.contains_key(id)).collect();
        }
        let Some(id) = offers.free.pop_front() else { bail!("no offer matches") };
        offers.taken.insert(id, Instant::now());
        Ok(id)
    }

    /// Sent once and never repeated: after an error that is no refusal the outcome is unknown.
    pub async fn rent(&self, offer: i64, label: &str, image: &str) -> Result<i64> {
        let body = json!({"image": image, "disk": 10, "label": label, "runtype": "ssh"});
        let path = format!("/api/v0/asks/{offer}/");
        let reply: RentReply = self.call(Call::Rent, Method::PUT, &path, Some(&body)).await?;
        Ok(reply.new_contract)
    }

    pub async fn destroy(&self, id: i64) -> Result<()> {
        let path = format!("/api/v0/instances/{id}/");
        match self.call::<Value>(Call::Destroy, Method::DELETE, &path, None::<&Value>).await {
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Refused>()
        .is_some_and(|Refused(status)| *status == StatusCode::NOT_FOUND || *status == StatusCode::GONE)
}
