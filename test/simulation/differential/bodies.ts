import type { JsonObject } from '../memory-kube/json.ts';
import type { Plural } from './operations.ts';

export interface BodiesOptions {
  readonly id: string;
  readonly plural: Plural;
  readonly pick: <T>(options: readonly T[]) => T;
  readonly chance: (share: number) => boolean;
  /**
   * True if this program applies a complete spec; false if it applies a few fields of an existing object, as the
   * operator does.
   */
  readonly appliesWhole: boolean;
}

/** Contents of merge patches, beside metadata. */
const CONTENTS: Readonly<Partial<Record<Plural, readonly JsonObject[]>>> = {
  gpuinstances: [
    {},
    { spec: { paused: true } },
    { spec: { image: 'example/c:3' } },
    { status: { attempt: 9 } },
  ],
  endpointgroups: [{}, { spec: { maxWorkers: 9 } }, { spec: { pause: { scaleUp: true, scaleDown: 'no' } } }],
};

/** Draws what is written, right and wrong. It stays clear of CEL rules, which the in-memory API does not have. */
export class Bodies {
  readonly #options: BodiesOptions;

  constructor(options: BodiesOptions) {
    this.#options = options;
  }

  #labels(): JsonObject {
    return { program: this.#options.id, ...(this.#options.chance(0.4) ? { tier: 'gold' } : {}) };
  }

  #finalizers(): string[] {
    return this.#options.pick([[], [], ['gpurental.dev/machine'], ['example.com/a', 'example.com/b']]);
  }

  fresh(): JsonObject {
    const { pick, plural } = this.#options;
    const metadata = { labels: this.#labels(), finalizers: this.#finalizers() };
    switch (plural) {
      case 'gpuinstances':
        return { metadata, spec: this.#instanceSpec(), ...pick([{}, { status: { attempt: 3 } }]) };
      case 'endpointgroups':
        return { metadata, spec: this.#groupSpec() };
      case 'marketplaceaccounts':
        return { metadata, spec: pick([{ apiKeySecretRef: { name: 'key' } }, { apiKeySecretRef: {} }, {}]) };
      case 'secrets':
        return { metadata, ...pick([{ data: { k: 'YQ==' } }, { stringData: { k: 'b' } }, {}]) };
      case 'leases':
        return { metadata, spec: { holderIdentity: pick(['x', 'y']), leaseDurationSeconds: 15 } };
      case 'configmaps':
        return { metadata, data: pick([{ a: '1' }, { a: '2', b: '3' }]) };
    }
  }

  /**
   * Returns a status without a spec. A wrong spec beside a status is ignored, but the real server then loses track of
   * field owners.
   */
  freshStatus(): JsonObject {
    return { metadata: { labels: this.#labels() }, status: { attempt: this.#options.pick([1, 2, 'many']) } };
  }

  /**
   * Returns a group's spec without `powerState`: a CEL rule refuses it, because the group decides which workers run.
   */
  #groupSpec(): JsonObject {
    const { pick } = this.#options;
    const { powerState: _decided, ...spec } = this.#instanceSpec();
    const bounds: readonly JsonObject[] = [
      {},
      {},
      { maxWorkers: 7 },
      { maxWorkers: 'many' },
      { spreadBy: 'Luck' },
    ];
    return { template: { spec }, ...pick(bounds) };
  }

  #instanceSpec(): JsonObject {
    const { pick, chance } = this.#options;
    return {
      image: pick(['example/a:1', 'example/b:2']),
      offers: [{ maxPricePerHour: pick(['0.50', '0.90']) }],
      ...(chance(0.3) ? { powerState: pick(['Running', 'Stopped', 'Asleep']) } : {}),
      ...(chance(0.2) ? { paused: pick([true, 'yes']) } : {}),
      ...(chance(0.2) ? { unheardOf: 1 } : {}),
      ...(chance(0.2) ? { timeouts: { start: pick(['1m', 7]) } } : {}),
    };
  }

  change(subresource: 'status' | undefined): JsonObject {
    const { pick, plural } = this.#options;
    if (subresource)
      return { status: pick([{ attempt: 5 }, { attempt: 6 }, { attempt: null }, { attempt: 'many' }]) };
    const metadata = pick<JsonObject>([
      { labels: { tier: 'silver' } },
      { labels: { tier: null } },
      { annotations: { note: 'x' } },
      { annotations: null },
      { finalizers: [] },
      { finalizers: null },
      { finalizers: ['gpurental.dev/machine'] },
    ]);
    return { metadata, ...pick(CONTENTS[plural] ?? [{}]) };
  }

  /** Returns a body for a forced apply by a single manager, as the operator does; omitted fields are released. */
  applied(): JsonObject {
    const { pick, plural, appliesWhole } = this.#options;
    const metadata = pick<JsonObject>([
      {},
      { labels: { tier: 'applied' } },
      { labels: { tier: 'applied', more: 'yes' } },
      { annotations: { note: 'applied' } },
    ]);
    if (plural === 'secrets') return { metadata, data: { k: 'YQ==' } };
    if (plural === 'leases') return { metadata, spec: { holderIdentity: 'z' } };
    if (plural !== 'gpuinstances') return { metadata };
    const required = appliesWhole ? { image: 'example/a:1', offers: [{ maxPricePerHour: '0.50' }] } : {};
    const spec = pick<JsonObject>([{}, { powerState: 'Stopped' }, { powerState: 'Running', paused: true }]);
    return { metadata, spec: { ...required, ...spec } };
  }

  jsonPatch(): readonly JsonObject[] {
    return this.#options.pick<readonly JsonObject[]>([
      [{ op: 'add', path: '/metadata/labels/added', value: 'yes' }],
      [
        { op: 'test', path: '/metadata/labels/program', value: 'another' },
        { op: 'remove', path: '/metadata/labels/program' },
      ],
      [{ op: 'replace', path: '/metadata/labels/program', value: this.#options.id }],
      [{ op: 'remove', path: '/metadata/labels/missing' }],
    ]);
  }
}
