import { describe, expect, test } from 'vitest';
import { endpointName } from './authenticate.ts';

describe('names of endpoints in a permissions object', () => {
  test.for([
    ['PUT', '/api/v0/instances/request_logs/:id', 'api.instance.request_logs'],
    ['GET', '/api/v0/instances', 'api.instance.index'],
    ['GET', '/api/v1/instances', 'api.instance.index'],
    ['GET', '/api/v0/instances/:id', 'api.instance.show'],
    ['PUT', '/api/v0/instances/:id', 'api.instance.update'],
    ['DELETE', '/api/v0/instances/:id', 'api.instance.destroy'],
    ['POST', '/api/v0/instances/:id/ssh', 'api.instance.ssh'],
    ['POST', '/api/v0/auth/apikeys', 'api.auth.apikeys'],
    ['POST', '/api/v0/endptjobs', 'api.endptjob.create'],
    ['POST', '/api/v0/tfa/sms/resend', 'api.tfa.sms.resend'],
  ] as const)('%s %s is %s', ([method, path, name]) => {
    expect(endpointName({ method, path })).toBe(name);
  });
});
