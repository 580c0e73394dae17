import { parse, stringify } from 'yaml';
import type { OperatorBench } from '../builders/running-operator.ts';

export type KindName = 'gpui' | 'epg' | 'gpuacct';

/** A status as the API server stores it. */
export interface StoredStatus {
  readonly record?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason: string }[];
  readonly [key: string]: unknown;
}

/** Commands that a person runs on one object. */
export function commandsOf(bench: OperatorBench, kind: KindName, name: string) {
  const kubectl = (args: readonly string[], stdin?: string) =>
    bench.cluster.kubectl(['-n', bench.namespace, ...args], stdin === undefined ? {} : { stdin });
  const patch = (body: object, ...more: readonly string[]) =>
    kubectl(['patch', kind, name, '--type=merge', ...more, '-p', JSON.stringify(body)]);
  const yaml = () => kubectl(['get', kind, name, '-o', 'yaml']);
  const status = async () =>
    (JSON.parse(await kubectl(['get', kind, name, '-o', 'json'])) as { readonly status?: StoredStatus })
      .status ?? {};
  return {
    patch: (body: object) => patch(body),
    /** Changes keys of the stored status; null removes one. */
    editStatus: (change: object | null) => patch({ status: change }, '--subresource=status'),
    yaml,
    /** Returns the manifest without the identity of the stored object, as backup tools write it. */
    backup: async (): Promise<string> => {
      const { metadata, ...rest } = parse(await yaml()) as {
        readonly metadata: Readonly<Record<string, unknown>>;
      };
      const { uid: _uid, resourceVersion: _version, ...kept } = metadata;
      return stringify({ ...rest, metadata: kept });
    },
    apply: (manifest: string) => kubectl(['apply', '-f', '-'], manifest),
    annotate: (annotation: string) => kubectl(['annotate', kind, name, annotation]),
    delete: (...options: readonly string[]) => kubectl(['delete', kind, name, '--timeout=60s', ...options]),
    status,
    /** Returns the reason of its Ready condition. */
    reason: async () => {
      const { conditions = [] } = await status();
      return conditions.find(({ type }) => type === 'Ready')?.reason;
    },
  };
}
