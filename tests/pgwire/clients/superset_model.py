"""What the database model of Superset does with a PostgreSQL server: PGPASSWORD=… python superset_model.py PORT."""

from __future__ import annotations

import os
import sys

from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.models.core import Database

    pw = os.environ.get("PGPASSWORD")
    uri = (
        f"postgresql+psycopg2://analyst{':' + pw if pw else ''}@127.0.0.1:{sys.argv[1]}/tacit?application_name=superset"
    )
    db = Database(database_name="t", sqlalchemy_uri=uri)
    db.set_sqlalchemy_uri(uri)
    from superset.sql.parse import Table

    print(sorted(db.get_all_schema_names(catalog=None)))
    print(sorted(db.get_all_table_names_in_schema(catalog=None, schema="public")))
    print(sorted(db.get_all_view_names_in_schema(catalog=None, schema="public")))
    print([(c["column_name"], str(c["type"])) for c in db.get_columns(Table("users", "public"))])
    print(
        db.get_indexes(Table("users", "public")),
        db.get_pk_constraint(Table("users", "public")),
        db.get_foreign_keys(Table("users", "public")),
        db.get_table_comment(Table("users", "public")),
    )
    print(
        db.get_df(
            'SELECT os AS os, COUNT(*) AS "count" FROM public.users WHERE age > 2 '
            'GROUP BY os ORDER BY "count" DESC LIMIT 1000',
            schema="public",
        )
    )
    print(db.db_engine_spec.get_catalog_names(db, db.inspector) if hasattr(db, "inspector") else "")
