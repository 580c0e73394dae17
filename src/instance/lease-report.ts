import { LEASE_PROOF_ENV, WORKER_TOKEN_ENV } from '../api/v1alpha1/names.ts';
import { shellQuoted } from '../lib/shell.ts';
import type { SelfEndFacts } from '../market/self-end.ts';
import { opensslTo, type Place, placeOf } from './shell-place.ts';

/* Renewal of a lease by the reply of the operator's report server. PURE. */

/** Path below the address of the report server. */
export const LEASE_PATH = '/lease/';

/**
 * Parts of a lease's duration after which the machine requests the next renewal. It repeats a request at each count. An
 * operator that is away for three quarters of the shortest lease then ends no machine.
 */
const RENEWALS = 8;

/** Returns the text in a reply that renews the lease of the machine that sent `count` with its request. */
export function renewalText(proof: string, count: number): string {
  return `${proof}:${count}`;
}

/**
 * Returns a command of the loop that counts: in the background it requests a renewal when one is due, and changes the
 * file `renew` if the reply is the operator's. Undefined for an address to which no token may be sent.
 *
 * Only a verified server gets the token of the machine, and a reply renews only with the machine's proof and the count
 * of this request: the reply of another server, or an old one, renews nothing. A call that does not return delays no
 * count.
 */
export function renewalByReport(url: string, facts: SelfEndFacts, leaseSeconds: number): string | undefined {
  const place = placeOf(url);
  if (!place) return undefined;
  const interval = Math.ceil(leaseSeconds / RENEWALS);
  const body = [
    `\\"id\\":\\"$${facts.idVariable}\\"`,
    `\\"mtoken\\":\\"$${WORKER_TOKEN_ENV}\\"`,
    '\\"count\\":$n',
    '\\"since\\":$i',
  ].join(',');
  const commands = [
    `h=${shellQuoted(place.host)} p=${place.prefix}${LEASE_PATH} b="{${body}}"`,
    `{ ${clientsOf(place).join('||')};}|grep -q "\${${LEASE_PROOF_ENV}:?}:$n\\""&&echo $n>y&&mv y renew`,
  ];
  return `{ [ $i -ge 0 ]&&[ ${interval} -gt $i ]||{ ${commands.join(';')};}& }`;
}

/** Returns the ways to post `$b` and print the reply; each is tried after the previous ones failed. */
function clientsOf(place: Place): readonly string[] {
  const { isSecure } = place;
  // `-q`: a configuration file may turn verification off.
  const curl = `curl -qgsm30 -d"$b" ${isSecure ? 'https' : 'http'}://$h$p`;
  const code = [
    'import sys,http.client as c',
    '_,h,p,b=sys.argv',
    `c=c.HTTP${isSecure ? 'S' : ''}Connection(h,timeout=30)`,
    'c.request("POST",p,b)',
    'print(c.getresponse().read())',
  ].join(';');
  // `-I`: the environment and the folder may name another module.
  const python = `python3 -Ic '${code}' $h $p "$b"`;
  const request = `printf '%s\\r\\n' "POST $p HTTP/1.0" Host:$h Content-Length:\${#b} '' "$b"`;
  return isSecure ? [curl, python, `${request}|${opensslTo(place)}`] : [curl, python];
}
