import type { Program } from '../instances/container-program.ts';
import { isObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import type { World } from '../world/world.ts';
import type { CommandLine, Isolation } from './isolation.ts';
import { HOME } from './machine-folder.ts';

/* First command of a container that is a real process, and its environment. PURE. */

/** Path of the start script, from the root of a machine. */
export const SCRIPT_PATH = `${HOME}/onstart.sh`;
/** Path of the certificates that a machine trusts, from its root. */
export const CERTIFICATES_PATH = `${HOME}/.simulator-ca.pem`;

/** Path of the public SSH keys that may log in, from the root of a machine. */
export const KEYS_PATH = `${HOME}/.ssh/authorized_keys`;

/** Returns the public keys of the account, and those attached to the machine, each once. */
export function loginKeys(
  { tables: { sshKeys } }: World,
  { userId, notes }: Pick<Contract, 'notes' | 'userId'>,
): readonly string[] {
  const own = Object.values(sshKeys).filter((key) => key.userId === userId && key.deletedAt === null);
  const attached = Array.isArray(notes.sshKeys) ? notes.sshKeys : [];
  const texts = [...own, ...attached].flatMap((row) =>
    isObject(row) && typeof row.key === 'string' ? [row.key] : [],
  );
  return [...new Set(texts)];
}

/**
 * Replaces the service's own entrypoint, which continues after the script has ended. At a stop it waits for the other
 * processes of its namespace.
 */
const ENTRYPOINT = `
trap 'stop=1' TERM
echo "simulated entrypoint: $1"
if [ "$1" = script ]; then
  if [ "$2" = shown ]; then $(command -v bash || echo sh) "$HOME/onstart.sh" &
  else $(command -v bash || echo sh) "$HOME/onstart.sh" >>"$HOME/onstart.log" 2>&1 & fi
fi
while [ -z "$stop" ]; do sleep 1000 & wait $!; done
while [ "$3" = own ] && set -- "$1" "$2" "$3" /proc/[0-9]* && [ $# -gt 4 ]; do sleep 0.1; done
`;

/** Returns the command of a container's first process, outside its isolation. */
export function firstCommand(
  program: Program,
  options: { readonly onstartInLog: boolean; readonly hasNamespaces: boolean },
): CommandLine {
  if (program.type === 'words') {
    const [name = 'true', ...args] = program.words;
    return [name, ...args];
  }
  const output = options.onstartInLog ? 'shown' : 'hidden';
  const processes = options.hasNamespaces ? 'own' : 'shared';
  return ['sh', '-c', ENTRYPOINT, 'entrypoint', program.type, output, processes];
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the variables of a container: those of the service, the account and the rental. */
export function environmentOf(
  world: World,
  contract: Contract,
  { isolation, root, hasCertificates }: { isolation: Isolation; root: string; hasCertificates: boolean },
): Readonly<Record<string, string>> {
  const { apiKeys, variables } = world.tables;
  const key = Object.values(apiKeys).find(({ instanceId }) => instanceId === contract.id);
  const folders = isolation.folders(root);
  const account = Object.values(variables).filter(({ userId }) => userId === contract.userId);
  const certificates = `${folders.HOME}/.simulator-ca.pem`;
  const given = {
    PATH,
    ...folders,
    ...(hasCertificates && Object.fromEntries(CERTIFICATE_VARIABLES.map((name) => [name, certificates]))),
    ...Object.fromEntries(account.map(({ name, value }) => [name, value])),
    ...Object.fromEntries(Object.entries(contract.env).filter(([name]) => !name.startsWith('-'))),
    CONTAINER_ID: String(contract.id),
    ...(key && { CONTAINER_API_KEY: key.secret }),
    VAST_CONTAINERLABEL: `C.${contract.id}`,
  };
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => isVariable(name, value)));
}

/** Variables with which OpenSSL, curl, Python and Node find authorities. */
const CERTIFICATE_VARIABLES = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
];

const isVariable = (name: string, value: string): boolean =>
  name !== '' && !/[=\0]/.test(name) && !value.includes('\0');
