// SPDX-License-Identifier: MIT

use crate::abi;

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The answer itself.
    Content,
    /// The model's reasoning before the answer.
    Reasoning,
    /// A call of a tool, with its arguments.
    ToolCall,
    /// The host does not know.
    Unknown,
}

impl Part {
    pub(crate) fn of(code: i32) -> Part {
        match code {
            abi::PART_CONTENT => Part::Content,
            abi::PART_REASONING => Part::Reasoning,
            abi::PART_TOOL_CALL => Part::ToolCall,
            _ => Part::Unknown,
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn code(self) -> i32 {
        match self {
            Part::Content => abi::PART_CONTENT,
            Part::Reasoning => abi::PART_REASONING,
            Part::ToolCall => abi::PART_TOOL_CALL,
            Part::Unknown => abi::PART_UNKNOWN,
        }
    }
}
