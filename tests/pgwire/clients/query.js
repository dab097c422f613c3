const { Client } = require('pg');
(async () => {
  const c = new Client({ host: '127.0.0.1', port: +process.argv[2], user: 'analyst', database: 'tacit', password: process.env.PGPASSWORD, application_name: 'node-postgres' });
  await c.connect();
  const r = await c.query('SELECT os, COUNT(*) AS n FROM users WHERE age > $1 GROUP BY os ORDER BY os', [2]);
  console.log(r.fields.map(f => f.name + ':' + f.dataTypeID).join(' '), JSON.stringify(r.rows));
  console.log(JSON.stringify((await c.query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name")).rows));
  const named = { name: 'q', text: 'SELECT COUNT(*) AS n FROM users WHERE os = $1', values: ['i'] };
  for (let i = 0; i < 3; i++) console.log(JSON.stringify((await c.query(named)).rows));
  try { await c.query('SELECT agee FROM users'); } catch (e) { console.log(e.code, e.position, e.message); }
  await c.end();
})().catch(e => { console.error(e.message); process.exit(1); });
