import type { TransportRequest } from '../../src/lib/transport.ts';
import { isObject, metadataOf, textAt } from './memory-kube/json.ts';
import type { Commit } from './memory-kube/store.ts';
import { AttemptWatch } from './oracle/attempts.ts';
import { shortfallsOf } from './oracle/converged.ts';
import { MachineWatch } from './oracle/machines.ts';
import { type Purchase, readPurchase } from './oracle/purchase.ts';
import { nameOf, Scene, type SceneOptions, type Violation } from './oracle/scene.ts';
import { type Waste, WasteMeter } from './oracle/waste.ts';
import type { SimulatedWorld } from './world.ts';

export type { Violation } from './oracle/scene.ts';

const DESTROY_PATH = /^\/api\/v0\/instances\/(\d+)\//;

/** Watches a simulated world after every step. The marketplace's own ledger is the oracle, never the operator. */
export class Invariants {
  readonly #scene: Scene;
  readonly #machines: MachineWatch;
  readonly #attempts: AttemptWatch;
  readonly #waste: WasteMeter;
  #lastWriteAt = 0;

  constructor(world: SimulatedWorld, options: SceneOptions) {
    this.#scene = new Scene(world, options);
    this.#machines = new MachineWatch(this.#scene);
    this.#attempts = new AttemptWatch(this.#scene);
    this.#waste = new WasteMeter(this.#scene);
    world.kube.store.onCommit((commit) => this.#onCommit(commit));
  }

  get violations(): readonly Violation[] {
    return this.#scene.violations;
  }

  /** Billed milliseconds per contract that nobody had claimed, that were surplus, or past a wanted deletion. */
  get wastedMs(): ReadonlyMap<number, number> {
    return this.#waste.perContract();
  }

  /** Why a contract billed for nothing, and for how long. */
  wasteOf(contract: number): Readonly<Partial<Record<Waste, number>>> {
    return this.#waste.reasonsOf(contract);
  }

  /** When something other than a lease was last written to the cluster. */
  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** A person laid hands on that object, so that promises about hand-made states no longer hold for it. */
  handsOn(name: string): void {
    for (const [uid, object] of this.#scene.objects) if (nameOf(object) === name) this.#scene.handsOn(uid);
  }

  /** Another oracle found something wrong. */
  report(invariant: string, text: string): void {
    this.#scene.broken(invariant, text);
  }

  isForeign(id: number): boolean {
    return this.#machines.isForeign(id);
  }

  /** Somebody else ends that contract, in the console. */
  destroyedElsewhere(id: number): void {
    this.#machines.destroyedElsewhere(id);
  }

  /** Looks at everything that can be wrong now. */
  check(): void {
    if (this.#scene.look()) {
      this.#machines.changed();
      this.#waste.changed();
    }
    this.#machines.elapsed();
  }

  /** Whether everything that is wanted is there, and nothing else. */
  isConverged(): boolean {
    this.check();
    return shortfallsOf(this.#scene, () => false).length === 0;
  }

  /** After the faults have stopped and time was given: what is not as it was wanted is a violation. */
  checkConverged(): void {
    this.check();
    for (const { invariant, text } of shortfallsOf(this.#scene, () => false))
      this.#scene.broken(invariant, text);
  }

  /** A process sends that request, whatever becomes of it. */
  sent({ method, path, body }: TransportRequest): void {
    if (method === 'PUT' && path.startsWith('/api/v0/asks/')) {
      const purchase = purchaseIn(body ?? '');
      if (purchase) this.#attempts.rentSent(purchase);
    }
    const destroyed = method === 'DELETE' ? DESTROY_PATH.exec(path)?.[1] : undefined;
    if (destroyed !== undefined) this.#machines.destroySent(Number(destroyed));
  }

  #onCommit(commit: Commit): void {
    const { kind, object, type } = commit;
    if (kind.plural !== 'leases') {
      this.#lastWriteAt = this.#scene.now;
      this.#scene.world.tell(`cluster: ${type} ${kind.plural} ${nameOf(object)} at ${commit.revision}`);
    }
    const uid = String(metadataOf(object)['uid']);
    const before = this.#scene.objects.get(uid);
    this.#scene.committed(commit);
    if (kind.plural !== 'gpuinstances') return;
    if (type === 'DELETED') this.#machines.released(uid, object);
    else if (before && !this.#scene.isHandled(uid)) this.#attempts.rewritten(before, object);
  }
}

function purchaseIn(body: string): Purchase | undefined {
  const request: unknown = JSON.parse(body);
  const label = isObject(request) ? textAt(request, 'label') : undefined;
  return label === undefined ? undefined : readPurchase(label);
}
