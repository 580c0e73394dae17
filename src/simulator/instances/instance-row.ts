import type { Profile } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import type { Machine } from '../tables/machines.ts';
import type { Offer } from '../tables/offers.ts';
import { chance } from '../world/chance.ts';
import { secondOf } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { shownStatus, statusMessage } from './boot.ts';
import { fixedFields } from './instance-fields.ts';

/* An instance as a reply shows it, with figures of this moment. PURE. */

const dollars = (micros: number): number => micros / 1e6;

/** How a row is shown; `word` takes the place of its status where a fault says so. */
export interface RowView {
  readonly world: World;
  readonly profile: Profile;
  readonly word?: string | undefined;
}

/** The row in the profile's form: the `specification` shows the id and the three fields it names. */
export function instanceRow(contract: Contract, view: RowView): JsonObject {
  if (view.profile === 'specification') return specifiedRow(contract, view);
  return { ...fixedFields(view.world, contract), ...movingFields(contract, view) };
}

/** JSON of the fields that do not move, and what it was written from beside the contract. */
interface FixedJson {
  readonly settings: World['settings'];
  readonly columns: Offer['columns'] | undefined;
  readonly address: string | undefined;
  readonly json: string;
}

const fixedJson = new WeakMap<Contract, FixedJson>();

/** The JSON text of {@link instanceRow}: most of a list is the same in each look. */
export function instanceJson(contract: Contract, view: RowView): string {
  if (view.profile === 'specification') return JSON.stringify(specifiedRow(contract, view));
  const moving = JSON.stringify(movingFields(contract, view)).slice(1);
  return `${fixedText(contract, view.world)},${moving}`;
}

function fixedText(contract: Contract, world: World): string {
  const { settings, tables } = world;
  const columns = tables.offers[contract.offerId]?.columns;
  const address = tables.machines[contract.machineId]?.publicAddress;
  const kept = fixedJson.get(contract);
  if (kept?.settings === settings && kept.columns === columns && kept.address === address) return kept.json;
  const json = JSON.stringify(fixedFields(world, contract)).slice(0, -1);
  fixedJson.set(contract, { settings, columns, address, json });
  return json;
}

function specifiedRow(contract: Contract, { world, word }: RowView): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  return {
    id: contract.id,
    actual_status: word ?? specifiedStatus(shownStatus(contract, machine)),
    ssh_host: machine?.publicAddress ?? null,
    ssh_port: contract.sshPort,
  };
}

/** The words of specification 3.1. */
const SPECIFIED: ReadonlySet<string | null> = new Set([
  null,
  'loading',
  'running',
  'exited',
  'unknown',
  'offline',
]);

/**
 * The word of specification 3.1 for a state: `created` is not seen yet as anything but null, and a container that
 * does not run, whoever stopped it, reads `exited` (what follows a stop request is not shown there).
 */
function specifiedStatus(status: string | null): string | null {
  if (SPECIFIED.has(status)) return status;
  if (status === 'created') return null;
  return status === 'rebooting' ? 'loading' : 'exited';
}

/** Status, load, time left and, while it runs, ports. */
function movingFields(contract: Contract, { world, word }: RowView): JsonObject {
  const machine = world.tables.machines[contract.machineId];
  const status = shownStatus(contract, machine);
  return {
    actual_status: word ?? status,
    status_msg: status === contract.actualStatus ? statusMessage(contract, world.now) : null,
    template_name: world.tables.templates[contract.templateId ?? -1]?.name ?? null,
    reliability2: machine?.reliability ?? null,
    ...listingFields(world, world.tables.offers[contract.offerId]),
    ...usageFields(world, contract, machine),
    ...portFields(contract, status),
  };
}

const HUNDREDTHS = 100;
const rounded = (value: number): number => Math.round(value * HUNDREDTHS) / HUNDREDTHS;

const IDLE: JsonObject = {
  gpu_util: null,
  gpu_temp: null,
  cpu_util: null,
  mem_usage: null,
  mem_limit: null,
  vmem_usage: null,
  disk_usage: -1,
  disk_util: -1,
  uptime_mins: null,
};

/** Load and temperatures move every second while it runs, and are null while it does not. */
function usageFields(world: World, contract: Contract, machine: Machine | undefined): JsonObject {
  if (shownStatus(contract, machine) !== 'running') return IDLE;
  const second = secondOf(world.now);
  const share = (figure: number): number => chance(world.seed, contract.id, second, figure);
  const diskShare = 0.2 + 0.1 * share(6);
  return {
    gpu_util: rounded(60 + 40 * share(1)),
    gpu_temp: rounded(45 + 30 * share(2)),
    cpu_util: rounded(share(3)),
    mem_usage: rounded(2 + 14 * share(4)),
    mem_limit: 64,
    vmem_usage: rounded(20 * share(5)),
    disk_usage: rounded(contract.diskGB * diskShare),
    disk_util: rounded(diskShare),
    uptime_mins: rounded((second - secondOf(contract.statusSince)) / 60),
  };
}

/** What the listing says now: the lowest bid, and how long the machine stays on offer. */
function listingFields(world: World, offer: Offer | undefined): JsonObject {
  if (!offer) return { min_bid: null, duration: 0 };
  const end = Number(offer.columns.end_date ?? 0);
  return { min_bid: dollars(offer.minBidPerHour), duration: Math.max(0, end - secondOf(world.now)) };
}

/** The port map is there only while the machine runs and is reached directly. */
function portFields(contract: Contract, status: string | null): JsonObject {
  const ports = Object.entries(contract.ports);
  if (status !== 'running' || ports.length === 0) return {};
  const map = ports.map(
    ([inside, outside]) => [inside, [{ HostIp: '0.0.0.0', HostPort: String(outside) }]] as const,
  );
  return { ports: Object.fromEntries(map) };
}
