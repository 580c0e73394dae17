import type { Kubectl } from './kubectl.ts';
import type { Address } from './memory-kube/address.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';
import { GROUP_SPEC, MACHINE } from './specs.ts';
import type { SimulatedWorld } from './world.ts';

const GROUPS = 'endpointgroups';

/** Person who owns the groups. */
export class GroupOwner {
  readonly #world: SimulatedWorld;
  readonly #kubectl: Kubectl;
  /** Template of the workers. */
  #machine: JsonObject = MACHINE;

  constructor(world: SimulatedWorld, kubectl: Kubectl) {
    this.#world = world;
    this.#kubectl = kubectl;
  }

  /** Templates from now on say nothing of what a machine may cost: that is left to the account. */
  leavePriceToAccount(): void {
    this.#machine = { ...MACHINE, offers: [{ gpuNames: ['RTX 4090'] }] };
  }

  /** Adds fields to the templates from now on. */
  setTemplate(spec: JsonObject): void {
    this.#machine = { ...this.#machine, ...spec };
  }

  /** Creates a group whose load is written into its spec or comes through the gateway. */
  create(name: string, load: number, spec: JsonObject = {}): void {
    if (hasPool(spec) && !this.#world.has('stop')) return;
    const { gateway } = this.#world;
    gateway?.offer(name, load);
    this.#kubectl.create(GROUPS, name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'EndpointGroup',
      spec: {
        template: { spec: { ...this.#machine, replacement: { maxPerHour: 30 } } },
        load: gateway
          ? { type: 'Prometheus', prometheus: { loadQuery: name } }
          : { type: 'Static', static: { load: String(load) } },
        ...withoutNull({ ...GROUP_SPEC, ...spec }),
      },
    });
  }

  /** Sets options of a group; null removes one. */
  set(name: string, spec: JsonObject): void {
    if (hasPool(spec) && !this.#world.has('stop')) return;
    this.#edit(name, JSON.stringify(spec), spec);
  }

  setLoad(name: string, load: number): void {
    const { gateway } = this.#world;
    if (gateway) {
      gateway.offer(name, load);
      this.#world.note(`the load ${load} comes for the group ${name}`);
      return;
    }
    this.#edit(name, `the load ${load}`, { load: { type: 'Static', static: { load: String(load) } } });
  }

  setMaxWorkers(name: string, maxWorkers: number): void {
    this.#edit(name, `maxWorkers ${maxWorkers}`, { maxWorkers });
  }

  /** Sets another image for the workers. */
  setImage(name: string, image: string): void {
    this.#edit(name, `image ${image}`, {
      template: { spec: { ...this.#machine, image, replacement: { maxPerHour: 30 } } },
    });
  }

  setColdWorkers(name: string, coldWorkers: number): void {
    if (hasPool({ coldWorkers }) && !this.#world.has('stop')) return;
    this.#edit(name, `coldWorkers ${coldWorkers}`, { coldWorkers });
  }

  setPause(name: string, pause: { readonly scaleUp?: boolean; readonly scaleDown?: boolean }): void {
    this.#edit(name, `pause ${JSON.stringify(pause)}`, { pause });
  }

  setInactivityTimeout(name: string, inactivityTimeout: string): void {
    this.#edit(name, `inactivityTimeout ${inactivityTimeout}`, { inactivityTimeout });
  }

  /** Asks a group to wake, as an application does that has work. */
  wake(name: string): void {
    const annotations = { 'gpurental.dev/wake-at': String(this.#world.second) };
    this.#kubectl.annotate(this.#group(name), `wakes the group ${name}`, annotations);
  }

  /** Sets whether Prometheus, if there is one, answers. */
  setPrometheus(isUp: boolean): void {
    this.#world.gateway?.setUp(isUp);
    if (this.#world.gateway) this.#world.note(`Prometheus ${isUp ? 'answers' : 'does not answer'}`);
  }

  delete(name: string): void {
    this.#kubectl.delete(this.#group(name), `deletes the group ${name}`);
  }

  /** Names of the groups that stand now. */
  names(): string[] {
    return this.#kubectl.names(GROUPS);
  }

  #group(name: string): Address {
    return this.#kubectl.address(GROUPS, name);
  }

  #edit(name: string, what: string, spec: JsonObject): void {
    this.#kubectl.edit(this.#group(name), {
      what: `sets ${what} of ${name}`,
      change: (current) => ({ ...current, spec: withoutNull({ ...objectAt(current, 'spec'), ...spec }) }),
    });
  }
}

function withoutNull(spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null));
}

/** Returns true if a group keeps stopped workers. */
function hasPool({ coldWorkers = 0, coldMultiplier = '1' }: JsonObject): boolean {
  return Number(coldWorkers) > 0 || Number(coldMultiplier) > 1;
}
