import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { FleetRow } from './fleet.ts';

/** A command line for a terminal, with its purpose in a word. */
export interface ObjectCommand {
  readonly title: string;
  readonly text: string;
}

/** Returns the commands that are of use for an object in its present state. */
export function objectCommands(
  { kind, namespace, name }: Pick<FleetRow, 'kind' | 'namespace' | 'name'>,
  { status }: { readonly status?: Partial<NonNullable<GpuInstance['status']>> | object | undefined },
): readonly ObjectCommand[] {
  const line = (title: string, verb: string, more = ''): ObjectCommand => ({
    title,
    text: `gpu-rent ${verb} ${kind}/${name} -n ${namespace}${more}`,
  });
  const show = line('Status', 'status');
  switch (kind) {
    case 'gpuacct':
      return [show, { title: 'Check', text: `gpu-rent doctor -n ${namespace}` }];
    case 'epg':
      return [line('Explain', 'explain'), line('Watch', 'top'), line('Wait', 'wait'), show];
    case 'gpui': {
      const { instanceId, ssh, phase } = (status ?? {}) as Partial<NonNullable<GpuInstance['status']>>;
      const hasMachine = instanceId !== undefined;
      const answers = hasMachine && ssh !== undefined && phase !== 'Stopped';
      return [
        ...(answers ? [line('Shell', 'ssh')] : []),
        ...(hasMachine ? [line('Logs', 'logs', ' --follow')] : []),
        ...[line('Explain', 'explain'), line('Wait', 'wait'), show],
      ];
    }
  }
}
