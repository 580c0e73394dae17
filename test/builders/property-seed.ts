import fc from 'fast-check';

/**
 * Properties draw from one seed, so that a commit is judged alike wherever and however often it is tested:
 * `PROPERTY_SEED=7 make check` draws other examples, and `make verify-all` fresh ones.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
