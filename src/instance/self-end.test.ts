import { describe, expect, test } from 'vitest';
import type { Fuses } from '../market/self-end.ts';
import { vastFacts } from '../markets/vast/facts.ts';
import { fuseFiles, fuseLine } from './self-end.ts';

const facts = vastFacts.selfEnd ?? expect.fail('no facts');
const DAY: Fuses = { lifeSeconds: 87_000 };

function lineAt(url: string, fuses = DAY): string {
  return fuseLine({ url, facts }, fuses) ?? expect.fail('no fuse');
}

describe('the line that starts a fuse (C01)', () => {
  test('has every command that it runs, and no other', () => {
    const commands = lineAt('https://market.example').split(/(?<=;|&&|\|)(?!;)/);
    expect(commands).toEqual([
      `( (trap '' 1 2 3 15;`,
      `set -f +eux;`,
      `h=market.example p=/api/v0/instances/\${CONTAINER_ID:?}/;`,
      `k="Authorization: Bearer \${CONTAINER_API_KEY:?}";`,
      `j=Content-Type:application/json;`,
      `c(){ case $(curl -qgsm30 -o/dev/null -w%{http_code} -X$1 -H"$k" -H$j -d"$2" https://$h$p) in 2*)return 0;`,
      `esac;`,
      `python3 -Ic 'import sys,http.client as c;`,
      `_,h,p,m,b,*k=sys.argv;`,
      `c=c.HTTPSConnection(h,timeout=30);`,
      `c.request(m,p,b,dict(x.split(":",1)for x in k));`,
      `1/(c.getresponse().status<300)' $h $p $1 "$2" "$k" $j&&`,
      `return;`,
      String.raw`printf '%s\r\n' "$1 $p HTTP/1.0" Host:$h "$k" $j Content-Length:${'$'}{#2} '' "$2"|`,
      `timeout 30 openssl s_client -quiet -verify 9 -verify_return_error -verify_hostname $h -connect $h:443|`,
      `grep -q '^HTTP/1.. 2';`,
      `};`,
      `d=\${GPURENTAL_DIR:-/var/tmp/.gpurental};`,
      `mkdir -p "$d";`,
      `cd "$d"|`,
      `|`,
      `cd /proc|`,
      `|`,
      `exit;`,
      `n=0;`,
      `read -r n<t;`,
      `[ "$n" -ge 0 ]|`,
      `|`,
      `n=0;`,
      `while sleep 30;`,
      `do n=$((n+30));`,
      `echo $n>x&&`,
      `mv x t;`,
      `[ -f ok ]|`,
      `|`,
      `[ $n -gt 300 ]|`,
      `|`,
      `{ c PUT '{"state":"running"}'&&`,
      `echo>ok;`,
      `};`,
      `[ $n -lt 87000 ]|`,
      `|`,
      `c DELETE '{}';`,
      `done)&)</dev/null >/dev/null 2>&1`,
    ]);
  });

  test('has a lease beside the life, or either alone', () => {
    const both = lineAt('https://market.example', { lifeSeconds: 600, leaseSeconds: 7_200 });
    expect(both).toContain(';q=$(cat renew) i=-999999999;while sleep 30;');
    expect(both).toContain(';r=$(cat renew)&&i=$((i+30))&&{ [ "$r" = "$q" ]||{ q=$r i=0;};};');
    expect(both).toContain(";[ $n -lt 600 ]&&[ $i -lt 7200 ]||c DELETE '{}';done");
    const lease = lineAt('https://market.example', { leaseSeconds: 7_200 });
    expect(lease).toContain(";[ $i -lt 7200 ]||c DELETE '{}';done");
    expect(lease).not.toContain('$n -lt');
    expect(lineAt('https://market.example')).not.toContain('renew');
    expect(fuseLine({ url: 'https://market.example', facts }, {})).toBeUndefined();
  });

  test('fits a short script of the marketplace several times', () => {
    expect(lineAt('https://console.vast.ai').length).toBeLessThan(1_000);
    expect(lineAt('https://console.vast.ai', { ...DAY, leaseSeconds: 7_200 }).length).toBeLessThan(1_100);
  });

  test.each([
    ['https://market.example', 'h=market.example p=/api/', '-verify_hostname $h -connect $h:443'],
    ['https://market.example:443/', 'h=market.example p=/api/', '-verify_hostname $h -connect $h:443'],
    [
      'https://market.example:8443/v1//',
      'h=market.example:8443 p=/v1/api/',
      '-verify_hostname market.example -connect $h|',
    ],
    ['https://10.0.0.7', 'h=10.0.0.7 p=/api/', '-verify_ip $h -connect $h:443'],
    ['https://[::1]:8443', "h='[::1]:8443' p=/api/", '-verify_ip ::1 -connect $h|'],
    ['https://[::1]', "h='[::1]' p=/api/", '-verify_ip ::1 -connect $h:443'],
    ["https://a$(id)'b", "h='a$(id)'\\''b' p=/api/", '-verify_hostname $h -connect $h:443'],
    ["https://market.example/it's", "p='/it'\\''s'/api/", '-verify_hostname $h -connect'],
  ])('calls %s', (url, place, openssl) => {
    const line = lineAt(url);
    expect(line).toContain(place);
    expect(line).toContain(openssl);
    expect(line).toContain(' https://$h$p)');
    expect(line).toContain('c.HTTPSConnection(h,');
  });

  test.each(['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80'])(
    'calls the loopback address %s without a certificate, and not by openssl',
    (url) => {
      const line = lineAt(url);
      expect(line).toContain(' http://$h$p)');
      expect(line).toContain('c.HTTPConnection(h,');
      expect(line).not.toContain('openssl');
    },
  );

  test.each(['http://market.example', 'http://127.0.0.2', 'ftp://localhost', 'localhost', ''])(
    'is refused for %j, where the key would be readable',
    (url) => {
      expect(fuseLine({ url, facts }, DAY)).toBeUndefined();
    },
  );
});

describe('a list of the files of a fuse (C11)', () => {
  test.each([
    ['ok\nt\n', 'proof'],
    ['/var/tmp/.gpurental:\nok\nrenew\nt\n', 'proof'],
    ['ok  renew  t\n', 'proof'],
    ['total 4\n-rw-r--r-- 1 root root 0 Nov 30 05:00 ok\n', 'proof'],
    ['renew\nt\n', 'noProof'],
    ['/var/tmp/.gpurental:\n\nvar/tmp/.gpurental:\nt\n', 'noProof'],
    ['', 'noFuse'],
    ["ls: cannot access 'ok': No such file or directory\n", 'noFuse'],
    ['ls: ok t\n', 'noFuse'],
    ['not-ok\nt.txt\n', 'noFuse'],
    ['ok:\n', 'noFuse'],
  ])('that reads %j shows %s', (output, shown) => {
    expect(fuseFiles(output)).toBe(shown);
  });
});
