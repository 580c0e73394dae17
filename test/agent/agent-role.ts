import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import type { ClusterAccess } from '../cluster/connect.ts';

const PAGE = 'docs/how-to/agents.md';

/** Returns the ServiceAccount, Role and RoleBinding of the page for agents. */
export function documentedRole(): string {
  const page = readFileSync(join(REPOSITORY, PAGE), 'utf8');
  const [, yaml] = /```yaml\n(apiVersion: v1\nkind: ServiceAccount\n[^`]*)```/.exec(page) ?? [];
  if (yaml === undefined) throw new Error(`${PAGE} has no ServiceAccount`);
  return yaml;
}

/** Creates the documented account of an agent in a namespace. Resolves to the path of its kubeconfig. */
export async function agentKubeconfig(
  cluster: Pick<ClusterAccess, 'kubectl' | 'kubeconfigFor'>,
  namespace: string,
): Promise<string> {
  await cluster.kubectl(['apply', '--server-side', '-n', namespace, '-f', '-'], { stdin: documentedRole() });
  const { kubeconfigPath } = await cluster.kubeconfigFor({
    serviceAccount: { namespace, name: 'gpu-rent-agent' },
  });
  return kubeconfigPath;
}
