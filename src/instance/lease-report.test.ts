import { describe, expect, test } from 'vitest';
import { vastFacts } from '../markets/vast/facts.ts';
import { renewalByReport, renewalText } from './lease-report.ts';
import { runText } from './run-text.ts';
import { fuseLine } from './self-end.ts';
import { startText } from './start-text.ts';

const facts = vastFacts.selfEnd ?? expect.fail('no facts');
const TWO_HOURS = 7_200;

function commandFor(url: string): string {
  return renewalByReport(url, facts, TWO_HOURS) ?? expect.fail('no command');
}

describe('the command that requests a renewal', () => {
  test('has every command that it runs, and no other', () => {
    expect(commandFor('https://reports.example').split(/(?<=;|&&|\|)(?!;)/)).toEqual([
      '{ [ $i -ge 0 ]&&',
      '[ 900 -gt $i ]|',
      '|',
      String.raw`{ h=reports.example p=/lease/ b="{\"id\":\"$CONTAINER_ID\",\"mtoken\":\"$GPURENTAL_WORKER_TOKEN\",\"count\":$n,\"since\":$i}";`,
      '{ curl -qgsm30 -d"$b" https://$h$p|',
      '|',
      `python3 -Ic 'import sys,http.client as c;`,
      '_,h,p,b=sys.argv;',
      'c=c.HTTPSConnection(h,timeout=30);',
      'c.request("POST",p,b);',
      `print(c.getresponse().read())' $h $p "$b"|`,
      '|',
      String.raw`printf '%s\r\n' "POST $p HTTP/1.0" Host:$h Content-Length:${'$'}{#b} '' "$b"|`,
      'timeout 30 openssl s_client -quiet -verify 9 -verify_return_error -verify_hostname $h -connect $h:443;',
      '}|',
      String.raw`grep -q "${'$'}{GPURENTAL_LEASE_PROOF:?}:$n\""&&`,
      'echo $n>y&&',
      'mv y renew;',
      '}& }',
    ]);
  });

  test.each([
    [
      'https://10.0.0.7:8443/rented/',
      'h=10.0.0.7:8443 p=/rented/lease/ ',
      '-verify_ip 10.0.0.7 -connect $h;',
    ],
    ["https://a$(id)'b/", "h='a$(id)'\\''b' p=/lease/ ", '-verify_hostname $h -connect $h:443;'],
    ["https://reports.example/it's", "p='/it'\\''s'/lease/ ", '-verify_hostname $h'],
  ])('goes to %s', (url, place, openssl) => {
    expect(commandFor(url)).toContain(place);
    expect(commandFor(url)).toContain(openssl);
  });

  test('goes to loopback without a certificate, and not by openssl', () => {
    const command = commandFor('http://127.0.0.1:8082');
    expect(command).toContain(' http://$h$p||python3');
    expect(command).toContain('c.HTTPConnection(h,');
    expect(command).not.toContain('openssl');
  });

  test.each(['http://reports.example', 'ftp://localhost', ''])(
    'does not exist for %j, to which no token may be sent',
    (url) => {
      expect(renewalByReport(url, facts, TWO_HOURS)).toBeUndefined();
      expect(
        fuseLine({ url: 'https://m.example', facts, reportUrl: url }, { leaseSeconds: 60 }),
      ).toBeUndefined();
    },
  );

  test('is in the line of a lease and in the text of a run, and in no life fuse', () => {
    const target = { url: 'https://m.example', facts, reportUrl: 'https://reports.example' };
    const command = commandFor(target.reportUrl);
    const fuses = { leaseSeconds: TWO_HOURS };
    expect(fuseLine(target, fuses)).toContain(`;${command};`);
    expect(fuseLine(target, { lifeSeconds: 600 })).not.toContain('lease');
    const program = { type: 'words', words: ['true'] } as const;
    expect(runText({ ...target, fuses, nonce: 'k3', program })).toContain(`\n${command}\n`);
  });

  test('leaves room for a script of two thousand characters', () => {
    const target = { url: 'https://console.vast.ai', facts, reportUrl: 'https://reports.example.com' };
    const line = fuseLine(target, { lifeSeconds: 87_000, leaseSeconds: TWO_HOURS });
    expect(startText(line ?? '', 'x'.repeat(2_000)).length).toBeLessThan(vastFacts.script.max);
  });
});

test('a renewal is the proof with the count of its request', () => {
  expect(renewalText('proof-1', 60)).toBe('proof-1:60');
});
