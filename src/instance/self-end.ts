import { shellQuoted } from '../lib/shell.ts';
import type { Fuses, SelfEndFacts } from '../market/self-end.ts';
import { renewalByReport } from './lease-report.ts';
import { opensslTo, type Place, placeOf } from './shell-place.ts';

/* Shell text with which a machine ends itself with its own key. PURE. */

/** Seconds between two counts of a fuse. */
export const FUSE_TICK_SECONDS = 30;
/** Seconds after the end of `maxLifetime` in which only the operator may end the machine. */
export const FUSE_GRACE_SECONDS = 600;
/** The probe of the key is repeated for so long. */
const PROBE_SECONDS = 300;
/** Count of a lease that was never renewed: more than thirty years before its end. */
const UNARMED = -999_999_999;

/** Folder of a container in which the fuse counts; `GPURENTAL_DIR` in its environment names another one. */
export const FUSE_FOLDER = '/var/tmp/.gpurental';

/**
 * Command that lists the files of a fuse or a run, by the absolute path and by the path from the root of the container:
 * the service documents neither, and the wrong one causes an error in the output.
 */
export const LIST_COMMAND = `ls ${FUSE_FOLDER} ${FUSE_FOLDER.replace(/^\//, '')}`;

/** File in {@link FUSE_FOLDER} that appears when the key of the machine has proved that it may change the machine. */
const PROOF_FILE = 'ok';
/** File with the count of a fuse, from its first tick on. */
const COUNT_FILE = 't';

/** Finding in a list of the files of a fuse. */
export type FuseFiles = 'proof' | 'noProof' | 'noFuse';

/** Returns the files in the output of `ls` of {@link FUSE_FOLDER}. Messages of `ls` itself are no names. */
export function fuseFiles(output: string): FuseFiles {
  const lines = output.split('\n').filter((line) => !line.startsWith('ls:') && !line.endsWith(':'));
  const names = new Set(lines.flatMap((line) => line.trim().split(/\s+/)));
  if (names.has(PROOF_FILE)) return 'proof';
  return names.has(COUNT_FILE) ? 'noProof' : 'noFuse';
}

/** A marketplace as a machine reaches it. */
export interface FuseTarget {
  /** Address of the marketplace, with an optional path prefix. */
  readonly url: string;
  readonly facts: SelfEndFacts;
  /** Address of the operator's report server, if the machine itself requests the renewals of its lease. */
  readonly reportUrl?: string | undefined;
}

/**
 * Returns one line of POSIX shell that starts the fuses in the background; undefined for an address to which no key
 * may be sent. The line succeeds, prints nothing, and leaves no child, variable or function in the shell that runs
 * it.
 *
 * The fuse counts time in sleeps and reads no clock, so an end is never early. It keeps the count in the file `t`, so
 * that a restart continues it. Without its folder it counts in memory, and a restart begins again. The key is sent to
 * a verified server only; curl, python3 and openssl are tried in this order. The file `ok` appears when the key has
 * proved that it may change the machine.
 */
export function fuseLine(target: FuseTarget, fuses: Fuses): string | undefined {
  const calls = ownCalls(target);
  const counting = fuseCounting(target, fuses);
  if (calls === undefined || counting === undefined) return undefined;
  const commands = [
    // An inherited `set -e` would end the fuse at the first file that is missing; `-f`: a host may have brackets.
    "trap '' 1 2 3 15;set -f +eux",
    ...calls,
    `d=${OWN_FOLDER}`,
    // Without its folder it counts in memory, in a folder that keeps no files: a program may delete the folder before
    // `cd`.
    'mkdir -p "$d";cd "$d"||cd /proc||exit',
    ...counting,
  ];
  // A child of a child: `wait` and `$!` of the script stay as they are.
  return `( (${commands.join(';')})&)</dev/null >/dev/null 2>&1`;
}

/** Shell expression of the folder in which a machine counts. */
export const OWN_FOLDER = `\${GPURENTAL_DIR:-${FUSE_FOLDER}}`;

/**
 * Returns commands that define `c METHOD BODY`, a call of the machine about itself, which succeeds if the marketplace
 * accepted it; undefined for an address to which no key may be sent. The shell that runs them must not expand file
 * names. It ends if the container does not know its machine.
 */
export function ownCalls({ url, facts }: FuseTarget): readonly string[] | undefined {
  const place = placeOf(url);
  return (
    place && [
      `h=${shellQuoted(place.host)} p=${place.prefix}${facts.path(`\${${facts.idVariable}:?}`)}`,
      `k="Authorization: Bearer \${${facts.keyVariable}:?}"`,
      'j=Content-Type:application/json',
      `c(){ ${clientsOf(place).join(';')};}`,
    ]
  );
}

/** Conditions of the fuse of a machine that also runs a program to its end. */
export interface FuseConditions {
  /** Command that succeeds if the key must not be probed: the probe would start a stopped machine. */
  readonly skipProbe: string;
  /** Command that runs once when a fuse is due; if it succeeds, the end follows a tick later. */
  readonly beforeEnd: string;
}

/**
 * Returns commands that count in the present folder for ever, and call `c` when a fuse is due; undefined if there is no
 * fuse, or no token may be sent to the report server.
 */
export function fuseCounting(
  { facts, reportUrl }: FuseTarget,
  { lifeSeconds, leaseSeconds }: Fuses,
  conditions?: FuseConditions,
): readonly string[] | undefined {
  const limits = [
    ...(lifeSeconds === undefined ? [] : [`[ $n -lt ${lifeSeconds} ]`]),
    ...(leaseSeconds === undefined ? [] : [`[ $i -lt ${leaseSeconds} ]`]),
  ];
  if (limits.length === 0) return undefined;
  const hasLease = leaseSeconds !== undefined;
  const isReporting = hasLease && reportUrl !== undefined;
  const renewal = isReporting ? renewalByReport(reportUrl, facts, leaseSeconds) : undefined;
  if (isReporting && renewal === undefined) return undefined;
  const skipped = conditions === undefined ? '' : `${conditions.skipProbe}||`;
  const end = `c ${facts.end.method} ${shellQuoted(facts.end.body)}`;
  return [
    `n=0${conditions === undefined ? '' : ' e='}`,
    'read -r n<t;[ "$n" -ge 0 ]||n=0',
    ...(hasLease ? [`q=$(cat renew) i=${UNARMED}`] : []),
    `while sleep ${FUSE_TICK_SECONDS};do n=$((n+${FUSE_TICK_SECONDS}))`,
    'echo $n>x&&mv x t',
    `[ -f ok ]||[ $n -gt ${PROBE_SECONDS} ]||${skipped}{ c ${facts.probe.method} ${shellQuoted(facts.probe.body)}&&echo>ok;}`,
    // Without the file, no renewal is possible: if a program deletes it, this count stops.
    ...(hasLease ? [`r=$(cat renew)&&i=$((i+${FUSE_TICK_SECONDS}))&&{ [ "$r" = "$q" ]||{ q=$r i=0;};}`] : []),
    ...(renewal === undefined ? [] : [renewal]),
    `${limits.join('&&')}||${conditions === undefined ? end : `{ [ $e ]||{ e=1;${conditions.beforeEnd}&&continue;};${end};}`}`,
    'done',
  ];
}

/** Returns the ways to send method `$1` and body `$2`; each is tried after the previous ones failed. */
function clientsOf(place: Place): readonly string[] {
  const { isSecure } = place;
  // `-q`: a configuration file may turn verification off. Only 2xx is a success: a redirect did nothing.
  const curl = `case $(curl -qgsm30 -o/dev/null -w%{http_code} -X$1 -H"$k" -H$j -d"$2" ${isSecure ? 'https' : 'http'}://$h$p) in 2*)return 0;esac`;
  const code = [
    'import sys,http.client as c',
    '_,h,p,m,b,*k=sys.argv',
    `c=c.HTTP${isSecure ? 'S' : ''}Connection(h,timeout=30)`,
    'c.request(m,p,b,dict(x.split(":",1)for x in k))',
    '1/(c.getresponse().status<300)',
  ].join(';');
  // `-I`: the environment and the folder may name another module.
  const python = `python3 -Ic '${code}' $h $p $1 "$2" "$k" $j&&return`;
  return isSecure ? [curl, python, openssl(place)] : [curl, python];
}

/** Returns the command with openssl. */
function openssl(place: Place): string {
  const request = `printf '%s\\r\\n' "$1 $p HTTP/1.0" Host:$h "$k" $j Content-Length:\${#2} '' "$2"`;
  return `${request}|${opensslTo(place)}|grep -q '^HTTP/1.. 2'`;
}
