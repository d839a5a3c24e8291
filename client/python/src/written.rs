//! The formats in which records are written.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use z3950_marc::crosswalk::mods::to_mods;
use z3950_marc::table::{Columns, CopyCells, Table, TableForm};
use z3950_marc::{Form, MarcRecord};

use crate::error::{Error, unknown};

/// A format in which records are written.
pub(crate) enum Written {
    Form(Form),
    /// MODS, with all records in one collection.
    Mods,
    Table(Table),
}

const MODS_BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<modsCollection xmlns=\"http://www.loc.gov/mods/v3\">\n";
const MODS_END: &str = "</modsCollection>\n";

impl Written {
    /// Returns the format with this name.
    pub(crate) fn by_name(name: &str, columns: Option<&str>) -> PyResult<Self> {
        let table = match name {
            "csv" => TableForm::Csv,
            "tsv" => TableForm::Tsv,
            "spreadsheet" => TableForm::Spreadsheet,
            _ if columns.is_some() => {
                let words = "only csv, tsv and spreadsheet have columns";
                return Err(PyTypeError::new_err(words));
            }
            "mods" => return Ok(Self::Mods),
            _ => {
                let mut forms = Form::ALL.into_iter();
                let form = forms.find(|form| form.name() == name);
                let known = "marc, marcxml, marcxchange, json, mrk, line, dc, mods, brief, csv, tsv or spreadsheet";
                return form.map(Self::Form).ok_or_else(|| unknown(name, known));
            }
        };
        let columns = columns
            .map(str::parse::<Columns>)
            .transpose()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self::Table(Table::new(table, &columns.unwrap_or_default())))
    }

    /// Returns whether one of the columns contains data about copies.
    pub(crate) fn has_copies(&self) -> bool {
        matches!(self, Self::Table(table) if table.has_copies())
    }

    pub(crate) fn begin(&self) -> &str {
        match self {
            Self::Form(form) => form.begin(),
            Self::Mods => MODS_BEGIN,
            Self::Table(table) => table.header(),
        }
    }

    pub(crate) fn between(&self) -> &str {
        match self {
            Self::Form(form) => form.between(),
            Self::Mods | Self::Table(_) => "",
        }
    }

    pub(crate) fn end(&self) -> &str {
        match self {
            Self::Form(form) => form.end(),
            Self::Mods => MODS_END,
            Self::Table(_) => "",
        }
    }

    pub(crate) fn write(
        &self,
        record: &MarcRecord,
        copies: &[CopyCells],
        out: &mut Vec<u8>,
    ) -> PyResult<()> {
        match self {
            Self::Form(form) => {
                let written = form.write(record, out);
                written.map_err(|error| Error::new_err(error.to_string()))?;
            }
            Self::Mods => out.extend_from_slice(to_mods(record).as_bytes()),
            Self::Table(table) => {
                table.write(record, None.into(), copies, out);
            }
        }
        Ok(())
    }
}
