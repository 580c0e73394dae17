import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { inBackground } from '../lib/background.ts';
import type { Clock } from '../lib/clock.ts';
import { ownValue } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import { namespaceResource } from '../runtime/kube/core-resources.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';

type Labels = Readonly<Record<string, string>>;
type AllowedNamespaces = MarketplaceAccount['spec']['allowedNamespaces'];
type Selector = NonNullable<AllowedNamespaces['selector']>;

/**
 * `reading`: the first read is in progress. `unreadable`: no read has succeeded, which differs from having no labels.
 */
export type LabelsReading = Labels | 'reading' | 'unreadable';

interface Known {
  readonly labels: Labels | 'unreadable';
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/** Time after which a request reads the labels again, so that a change is noticed within about a minute. */
const KEPT_MS = 60_000;
/** Time without a request after which labels are dropped: the namespace was deleted, or has no objects any more. */
const UNASKED_MS = 3_600_000;

/**
 * Labels of namespaces, read one by one since the operator may not list them. A namespace that was not read
 * yet is unknown at first, and announced when it has been, or could not be.
 */
export class NamespaceLabels {
  readonly #options: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly log: Logger;
    readonly onChange: () => void;
  };
  readonly #byName = new Map<string, Known>();
  readonly #reading = new Set<string>();

  constructor(options: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly log: Logger;
    /** Labels of some namespace are known that were not, or changed. */
    readonly onChange: () => void;
  }) {
    this.#options = options;
  }

  /**
   * Returns the labels from the last read, and reads them again in the background if they are more than a minute old.
   */
  labelsOf(namespace: string): LabelsReading {
    const known = this.#byName.get(namespace);
    if (!known || known.until <= this.#options.clock.monotonic()) this.#startReading(namespace);
    return known?.labels ?? 'reading';
  }

  #startReading(namespace: string): void {
    const failed = (error: unknown) =>
      this.#options.log.error('Cannot evaluate the labels of the namespace', { namespace, error });
    inBackground({ task: 'labels of a namespace', object: namespace }, () => this.#read(namespace), failed);
  }

  #forgetUnasked(): void {
    const since = this.#options.clock.monotonic() - UNASKED_MS;
    for (const [name, { until }] of this.#byName) if (until <= since) this.#byName.delete(name);
  }

  async #read(namespace: string): Promise<void> {
    if (this.#reading.has(namespace)) return;
    this.#reading.add(namespace);
    const { client, clock, log, onChange } = this.#options;
    const before = this.#byName.get(namespace)?.labels;
    this.#forgetUnasked();
    const become = (labels: Known['labels']) => {
      this.#byName.set(namespace, { labels, until: clock.monotonic() + KEPT_MS });
      if (JSON.stringify(before) !== JSON.stringify(labels)) onChange();
    };
    try {
      const found = await client.get<KubeObject>(namespaceResource, { name: namespace });
      become(found?.metadata.labels ?? {});
    } catch (error) {
      log.warn('namespace could not be read', { namespace, error });
      become(before ?? 'unreadable');
    } finally {
      this.#reading.delete(namespace);
    }
  }
}

/**
 * Returns true if an account may be used from a namespace; undefined until the labels of the namespace are known. In
 * namespaced mode only its own namespace may use it.
 */
export function isNamespaceAllowed(
  account: MarketplaceAccount,
  namespace: string,
  cluster: { readonly namespaced: boolean; readonly labelsOf: (namespace: string) => LabelsReading },
): boolean | undefined {
  if (namespace === account.metadata.namespace) return true;
  const { from, selector } = account.spec.allowedNamespaces;
  if (from === 'Same' || cluster.namespaced) return false;
  if (from === 'All') return true;
  if (selector === undefined) return false;
  const labels = cluster.labelsOf(namespace);
  if (labels === 'reading') return undefined;
  return labels !== 'unreadable' && matches(selector, labels);
}

/**
 * Returns true if the labels match, by the rules of Kubernetes label selectors: every requirement must hold; an empty
 * selector matches all.
 */
export function matches(selector: Selector, labels: Labels): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(
    ([name, value]) => ownValue(labels, name) === value,
  );
  return equal && (selector.matchExpressions ?? []).every((expression) => holds(expression, labels));
}

type Expression = NonNullable<Selector['matchExpressions']>[number];

function holds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
